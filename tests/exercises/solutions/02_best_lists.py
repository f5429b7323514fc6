"""A right solution of exercise 2."""

import itertools


def cascade_reward(attraction, ranking):
    missed = 1.0
    for item in ranking:
        missed *= 1 - attraction[item]
    return 1 - missed


def pbm_reward(attraction, examination, ranking):
    return sum(chi * attraction[item] for chi, item in zip(examination, ranking))


def pbm_best_list(attraction, examination):
    items = sorted(range(len(attraction)), key=lambda item: -attraction[item])
    positions = sorted(range(len(examination)), key=lambda position: -examination[position])
    ranking = [0] * len(positions)
    for item, position in zip(items, positions):
        ranking[position] = item
    return ranking


def dcm_reward(attraction, termination, ranking):
    reward, examined = 0.0, 1.0
    for position, item in enumerate(ranking):
        reward += examined * attraction[item]
        examined *= 1 - termination[position] * attraction[item]
    return reward


def dcm_best_list(attraction, termination):
    rankings = itertools.permutations(range(len(attraction)), len(termination))
    return list(max(rankings, key=lambda ranking: dcm_reward(attraction, termination, ranking)))


def cumulative_regret(attraction, rankings, all_clicks):
    num_positions = len(rankings[0])
    best_list = sorted(range(len(attraction)), key=lambda item: -attraction[item])[:num_positions]
    best, total, regret = cascade_reward(attraction, best_list), 0.0, []
    for ranking in rankings:
        total += best - cascade_reward(attraction, ranking)
        regret.append(total)
    return regret


def misordered_pairs(attraction, ranking):
    hidden = [item for item in range(len(attraction)) if item not in ranking]
    count = 0
    for position, item in enumerate(ranking):
        for lower in ranking[position + 1 :] + hidden:
            if attraction[lower] > attraction[item]:
                count += 1
    return count
