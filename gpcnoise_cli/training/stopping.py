"""When a run has learned what it can, and when it has lost what it had.

A run ends after a cycle that raised the bound too little. A waveform is learned in the first cycle, while a set whose
inducing points still travel keeps gaining and goes on to the last planned step. The cycles grow, so a slow gain is
given the time to show.

A run is lost when its loss, averaged over a window of steps so that minibatch noise does not decide, stands far above
the best it had.
"""

from __future__ import annotations

from collections.abc import Sequence

WINDOW = 20
# The loss of a row below which a gain is measured against this: a set that is learned to the last row would otherwise
# be trained for gains that nobody can see.
SMALLEST_LOSS = 0.1
# Two windows in a row at this many times the best loss, and by this many nats a row above it.
LOST_FACTOR, LOST_NATS = 1.5, 0.02


def gained_enough(before: float, now: float, num_data: float, tolerance: float) -> bool:
    """Whether a cycle that took the bound from `before` to `now` was worth it, with so many rows or so much weight."""
    return (now - before) / num_data >= tolerance * max(-now / num_data, SMALLEST_LOSS)


def is_lost(windows: Sequence[float], num_data: float) -> bool:
    """Whether the losses of the latest two windows lie far above the best one."""
    if len(windows) < 4:
        return False
    best, latest = min(windows), min(windows[-2:])
    return latest > LOST_FACTOR * best and latest - best > LOST_NATS * num_data
