"""Values that users may give to a keyword by mistake, and how an environment may answer."""

import inspect

import numpy as np

NONSENSE = [
    *(None, "", "x", "nan", "\0", "x" * 300, ".", b"x", 1j, object, len),
    *(0, 1, -1, 3, 10**30, -(2**63), True, 1.0, 1.5, float("nan"), float("inf")),
    *(np.int64(2), np.int8(-3), np.uint64(2**63), np.float64(2.0), np.bool_(True), np.str_("x")),
    *(np.array(3), np.array([1, 2]), np.array([]), np.array(["a"]), np.array([None])),
    *([], [0, 0], ["a"], [None], [1.5], [2**70], [[0, 1], [1]], (), range(0), {0, 1}),
    *({}, {"a": 1}, {1: 2}, {"tau": None}, {"tau": [1]}, {"credit": 3}, {"gap": None}, {"gap": 10**400}),
]


def complaints(cls, **given):
    """What is wrong with the answers to every keyword of ``cls`` with every nonsense: it takes a value and can be
    stepped, or raises a ValueError of one line that tells the keyword and what is allowed."""
    wrong = []
    for keyword in inspect.signature(cls).parameters:
        for value in NONSENSE:
            if keyword == "horizon" and value is None:
                continue
            try:
                env = cls(**{"num_envs": 2, **given, keyword: value})
                env.action_space.seed(0)
                env.reset(seed=0)
                env.step(env.action_space.sample())
            except ValueError as error:
                said = str(error)
                names = [keyword, *(map(str, value) if isinstance(value, dict) else ())]
                if "allowed" not in said or "\n" in said or not any(name in said for name in names):
                    wrong.append((keyword, value, error))
            except Exception as error:  # whatever else is a fault; a KeyboardInterrupt is not one
                wrong.append((keyword, value, error))
    return wrong
