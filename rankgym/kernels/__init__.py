"""Compiled code, and what all kernels share: random numbers, selection, batches of arms, posteriors, checks
of rankings.

May import nothing of rankgym. A kernel calls kernels of its own file or of this room, of no other file: numba does not
notice an edited callee in another file, and the digest of this room's files names the cache folder.
"""

from rankgym.kernels.batches import (
    beaten,
    count_win,
    join_batches,
    least_beaten,
    leave_batch,
    log_of_sum,
    number_members,
    share_won,
    size_of,
    smallest_size,
    some_arm_beats,
)
from rankgym.kernels.compiling import MANY_ROWS, KernelError, cache_folder, kernel
from rankgym.kernels.divergence import kl_upper_bounds
from rankgym.kernels.functions import exponential, logarithm
from rankgym.kernels.memory import borrowed, give_back
from rankgym.kernels.posteriors import NODES, exceeded, posterior, rounded
from rankgym.kernels.random_numbers import (
    ABANDONMENT,
    AGENT,
    BETA_WORDS,
    ENVIRONMENT,
    EXAMINATION,
    ONE,
    QUERY,
    SCHEDULE,
    TERMINATION,
    bernoulli,
    beta_variate,
    bits,
    both_accepted,
    draw_item,
    fair_coins_show,
    row_keys,
    session_seed,
    shuffle,
    uniform,
    uniform_below,
)
from rankgym.kernels.rankings import FEEDBACK, first_fault, last_observed, popcount
from rankgym.kernels.selection import (
    challenger,
    first_then_shuffled,
    largest_upper_bound,
    place_of_largest,
    place_of_least,
    select_top,
    upper_bound,
)
from rankgym.kernels.stretching import Stretch, num_threads
from rankgym.kernels.tallies import TALLIES, fingerprint, tally_of

__all__ = [
    "ABANDONMENT",
    "AGENT",
    "BETA_WORDS",
    "ENVIRONMENT",
    "EXAMINATION",
    "FEEDBACK",
    "MANY_ROWS",
    "NODES",
    "ONE",
    "QUERY",
    "SCHEDULE",
    "TALLIES",
    "TERMINATION",
    "KernelError",
    "Stretch",
    "beaten",
    "bernoulli",
    "beta_variate",
    "bits",
    "borrowed",
    "both_accepted",
    "cache_folder",
    "challenger",
    "count_win",
    "draw_item",
    "exceeded",
    "exponential",
    "fair_coins_show",
    "fingerprint",
    "first_fault",
    "first_then_shuffled",
    "give_back",
    "join_batches",
    "kernel",
    "kl_upper_bounds",
    "largest_upper_bound",
    "last_observed",
    "least_beaten",
    "leave_batch",
    "log_of_sum",
    "logarithm",
    "num_threads",
    "number_members",
    "place_of_largest",
    "place_of_least",
    "popcount",
    "posterior",
    "rounded",
    "row_keys",
    "select_top",
    "session_seed",
    "share_won",
    "shuffle",
    "size_of",
    "smallest_size",
    "some_arm_beats",
    "tally_of",
    "uniform",
    "uniform_below",
    "upper_bound",
]
