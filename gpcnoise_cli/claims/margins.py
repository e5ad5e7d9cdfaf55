"""How far a figure may be from the published one and still count as the same; a function of the published one alone.

They were fixed after split 0 of preset fast had been seen and before any other split was computed; a single split
decides nothing.

Accuracy: half a point. The paper's own three likelihoods of one family differ by up to about that on a set, and no one
would choose between methods by less.

nll: 10% of the published figure, and 0.005 nats. The family's nll differs by a few percent from one likelihood to the
next. The constant is for figures near zero, where one row among a thousand that is wrong with confidence moves the mean
by as much.
"""

from __future__ import annotations

ACC_POINTS = 0.5
NLL_NATS = 0.005
NLL_PART = 0.10
# Of the runs that would be judged the wrong way, for each side of the margin.
ALPHA = 0.05


def margin_of(metric: str, value: float) -> float:
    """The margin around a published figure: points of accuracy, or nats."""
    return ACC_POINTS if metric == "acc" else NLL_NATS + NLL_PART * abs(value)
