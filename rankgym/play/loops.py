"""The compiled loops over rounds: what ``Game.play`` does step by step, made of the same kernels.

Each loop is written once. Its first arguments are kernels: of an agent, of an environment, and of measures;
``stretches.py`` has a copy compiled for each agent and environment. ``rows`` (a NamedTuple, see the environment's
``compiled``), ``parameters``, ``state``, ``truth`` and ``totals`` are arrays of some consecutive rows, changed in
place; ``room`` is two arrays of floats and one of bools for what the loop remembers of a round. A loop makes no
arrays, see ``makes_arrays`` of ``kernels/compiling.py``.

All rounds have the truth of the last one before (``alike`` of environments). If ``checked``, the first round whose
action is not valid ends the loop before anything happens in it. Returns the number of rounds played.
"""


def rankings(
    rank, learn, click, value, open_session, misordered_pairs, first_fault, ndcg,
    state, action, rows, parameters, truth, totals, room, shared, checked, rounds,
):  # fmt: skip
    """Lists are displayed and clicked."""
    cutoff, items, discounts = shared
    shown, displayed = rows.displayed, action
    paid, gain, _ = room
    ndcg(truth.attraction, discounts, truth.ideal, shown, gain)
    for played in range(rounds):
        rank(state, displayed)
        if checked and first_fault(displayed, items) >= 0:
            return played
        if open_session(displayed, shown, rows.session, rows.round):  # a list shown again keeps its value
            value(*parameters, shown, cutoff, rows.expected)
            misordered_pairs(rows.better, shown, rows.misordered)
            ndcg(truth.attraction, discounts, truth.ideal, shown, gain)
        click(*parameters, rows.key, rows.session, shown, cutoff, rows.observation, paid)
        for row in range(len(rows.key)):
            totals.regret[row] += rows.optimal[row] - rows.expected[row]
            totals.reward[row] += paid[row]
            totals.violations[row] += rows.misordered[row] > truth.limit[row]
            totals.ndcg[row] += gain[row]
        learn(state, shown, rows.observation)
    return rounds


def duels(
    choose, learn, duel, first_wrong_arm,
    state, action, rows, parameters, truth, totals, room, shared, checked, rounds,
):  # fmt: skip
    """Two arms are compared by a preference matrix."""
    preference, matrix, arms, gap, kind = shared
    left, right = action
    paid, _, left_won = room
    for played in range(rounds):
        choose(state, left, right)
        if checked and first_wrong_arm(left, right, arms.shape[1]) >= 0:
            return played
        duel(
            preference, matrix, arms, gap, rows.entry, kind, rows.key, rows.session, rows.round, left, right,
            rows.observation, rows.winner, paid, rows.loss,
        )  # fmt: skip
        for row in range(len(left)):
            rows.left[row], rows.right[row] = left[row], right[row]
            totals.regret[row] += rows.loss[row]
            totals.reward[row] += paid[row]
            left_won[row] = rows.winner[row] == 0
        learn(state, left, right, left_won)
    return rounds


def interleaved_rankings(
    rank, learn, click, value, keep, copy_rankings, count_session, interleave, credit, decide, first_fault,
    state, action, rows, parameters, truth, totals, room, shared, checked, rounds,
):  # fmt: skip
    """One list is on both sides of a duel, and learns from the clicks on it."""
    lists, cutoff, items, extra = shared
    ranking, first_left, first_right = action, rows.left_list[0], rows.right_list[0]
    paid, _, _ = room
    for played in range(rounds):
        rank(state, ranking)
        if checked and first_fault(ranking, items) >= 0:
            return played
        if keep(ranking, rows.left):
            copy_rankings(rows.left, first_left, lists)
            value(*parameters, rows.left, cutoff, rows.expected_left)
        if keep(ranking, rows.right):
            copy_rankings(rows.right, first_right, lists)
            value(*parameters, rows.right, cutoff, rows.expected_right)
        count_session(rows.session, rows.round)
        interleave(
            lists, rows.left_list, rows.right_list, *extra, rows.key, rows.session, rows.displayed, rows.share
        )  # fmt: skip
        click(*parameters, rows.key, rows.session, rows.displayed, cutoff, rows.observation, paid)
        credit(lists, rows.left_list, rows.right_list, rows.displayed, rows.share, rows.observation, rows.credit)
        decide(rows.credit, rows.key, rows.session, rows.winner)
        for row in range(len(rows.key)):  # both sides have the same gap, so this is every kind of regret
            totals.regret[row] += rows.optimal[row] - rows.expected_left[row]
            totals.reward[row] += paid[row]
        learn(state, ranking, rows.observation)
    return rounds


def interleaved_rankers(
    choose, learn, click, count_session, draw_query, interleave, credit, decide, first_wrong_arm,
    state, action, rows, parameters, truth, totals, room, shared, checked, rounds,
):  # fmt: skip
    """Two rankers are compared by interleaving their lists for a query."""
    lists, user, labels, start, pool, regret_of, extra = shared
    left, right = action
    paid, _, left_won = room
    for played in range(rounds):
        choose(state, left, right)
        if checked and first_wrong_arm(left, right, len(regret_of)) >= 0:
            return played
        count_session(rows.session, rows.round)
        for row in range(len(left)):
            rows.left[row], rows.right[row] = left[row], right[row]
        draw_query(
            rows.problem_key, rows.session, pool, left, right, len(regret_of), start, rows.problem, rows.first,
            rows.left_list, rows.right_list,
        )  # fmt: skip
        interleave(
            lists, rows.left_list, rows.right_list, *extra, rows.key, rows.session, rows.displayed, rows.share
        )  # fmt: skip
        click(*user, labels, rows.first, rows.key, rows.session, rows.displayed, rows.observation, paid)
        credit(lists, rows.left_list, rows.right_list, rows.displayed, rows.share, rows.observation, rows.credit)
        decide(rows.credit, rows.key, rows.session, rows.winner)
        for row in range(len(left)):
            totals.regret[row] += regret_of[left[row], right[row]]
            totals.reward[row] += paid[row]
            left_won[row] = rows.winner[row] == 0
        learn(state, left, right, left_won)
    return rounds
