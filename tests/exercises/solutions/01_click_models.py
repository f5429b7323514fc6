"""A right solution of exercise 1."""


def cascade_clicks(attraction, ranking, item_coins):
    clicks = [0] * len(ranking)
    for position, item in enumerate(ranking):
        if item_coins[item] < attraction[item]:
            clicks[position] = 1
            break
    return clicks


def pbm_clicks(attraction, examination, ranking, item_coins, position_coins):
    return [
        int(item_coins[item] < attraction[item] and position_coins[position] < examination[position])
        for position, item in enumerate(ranking)
    ]


def cascade_examination(attraction, ranking):
    examination, reached = [], 1.0
    for item in ranking:
        examination.append(reached)
        reached *= 1 - attraction[item]
    return examination


def click_probabilities(attraction, examination, ranking):
    return [chi * attraction[item] for chi, item in zip(examination, ranking)]


def click_rates(attraction, examination, ranking, all_item_coins, all_position_coins):
    total = [0] * len(ranking)
    for item_coins, position_coins in zip(all_item_coins, all_position_coins):
        clicks = pbm_clicks(attraction, examination, ranking, item_coins, position_coins)
        total = [count + click for count, click in zip(total, clicks)]
    return [count / len(all_item_coins) for count in total]
