"""Rows unlike all that the model was trained on, by what the model itself knows about them.

At a row x the latent function of class c has the variance ν_c; without any data it would be the prior's, k_c. Their
ratio, averaged over the latent functions, is what the training rows have left open there: near 0 among many of them, 1
where there are none within a few lengthscales. A row is called far where that is more than at nearly all held-out
rows, which come from where the training rows came. Columns that the kernel finds irrelevant do not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.evaluation.conformal import rank_for

# The part of rows from where the training rows came that may be called far.
USUAL = 0.99


def openness(nu: NDArray[np.floating], prior: NDArray[np.floating]) -> NDArray[np.float64]:
    """ν/k of each row, the mean over latent functions, from variances [n, L] and prior variances [n, L] or [L]."""
    return np.mean(np.asarray(nu, np.float64) / np.asarray(prior, np.float64), axis=1)


def far_beyond(held_out: NDArray[np.float64], usual: float = USUAL) -> float:
    """The openness above which a row is far; the largest one seen where the held-out rows are few."""
    return float(np.sort(held_out)[min(rank_for(len(held_out), usual), len(held_out)) - 1])
