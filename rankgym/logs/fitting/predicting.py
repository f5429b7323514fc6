"""Kernels: the probability of a click at each position, given the session's clicks above it."""

import numpy as np

from rankgym.kernels import ONE, kernel


@kernel
def predict_by_cells(item, clicks, length, attraction, examination, by_previous, probability):
    """PBM and UBM: fill ``probability`` (groups, positions); entries below a list's end are left.

    ``examination`` is (positions, positions), as the UBM's; of the PBM the last column counts.
    """
    none = examination.shape[1] - 1
    for g in range(item.shape[0]):
        previous = none
        for k in range(length[g]):
            probability[g, k] = attraction[item[g, k]] * examination[k, previous]
            if by_previous and clicks[g] >> np.uint64(k) & ONE:
                previous = k


@kernel
def predict_by_chain(item, clicks, length, attraction, onward, by_item, skip, probability):
    """CM, DBM, DCM, DBN and CCM: filter whether the user still reads; see ``chains`` for the parameters.

    If a click has probability 0, whoever clicked there had stopped before, and goes on not to read.
    """
    for g in range(item.shape[0]):
        reads = 1.0
        for k in range(length[g]):
            i = item[g, k]
            click = reads * attraction[i]
            probability[g, k] = click
            if clicks[g] >> np.uint64(k) & ONE:
                reads = onward[i if by_item else k] if click > 0.0 else 0.0
            elif click < 1.0:
                reads = reads * (1.0 - attraction[i]) * skip / (1.0 - click)
