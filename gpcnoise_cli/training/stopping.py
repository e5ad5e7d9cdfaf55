"""When a run has learned what it can, and when it has lost what it had.

A run ends after a cycle that raised the bound too little. A waveform is learned in the first cycle, while a set whose
inducing points still travel keeps gaining and goes on to the last planned step. The cycles grow, so a slow gain is
given the time to show.

A run that predicts no better than the shares of the classes after its first cycle has not begun: its lengthscales were
too long to see anything, and no number of further steps changes that.

A run is lost when its loss, averaged over a window of steps so that minibatch noise does not decide, stands far above
the best it had.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy

WINDOW = 20
# The loss of a row below which a gain is measured against this: a set that is learned to the last row would otherwise
# be trained for gains that nobody can see.
SMALLEST_LOSS = 0.1
# Two windows in a row at this many times the best loss, and by this many nats a row above it.
LOST_FACTOR, LOST_NATS = 1.5, 0.02
# A state counts as worse than another where its bound is lower by this part of the loss: assessments have no noise of
# minibatches, but full-size steps leave some in the state itself.
WORSE = 0.02
# Fewer rows than this do not show stripes as narrow as that: what is not learned is noise, as far as anyone can tell.
LEAST_TO_START_AGAIN = 200
# The part of the classes' entropy that an nll must stay above to have learned nothing.
NOTHING = 0.98
# Nor is anything to be learned where one class is all but everything, as class weights can make it: nats.
LEAST_ENTROPY = 1e-3


def gained_enough(before: float, now: float, num_data: float, tolerance: float) -> bool:
    """Whether a cycle that took the bound from `before` to `now` was worth it, with so many rows or so much weight."""
    return (now - before) / num_data >= tolerance * max(-now / num_data, SMALLEST_LOSS)


def learned_nothing(nll: float, shares: NDArray[np.float64]) -> bool:
    """Whether an nll of training rows is that of guessing by the classes' shares."""
    return nll > max(NOTHING * float(entropy(shares)), LEAST_ENTROPY)


def is_lost(windows: Sequence[float], num_data: float) -> bool:
    """Whether the losses of the latest two windows lie far above the best one."""
    if len(windows) < 4:
        return False
    best, latest = min(windows), min(windows[-2:])
    return latest > LOST_FACTOR * best and latest - best > LOST_NATS * num_data
