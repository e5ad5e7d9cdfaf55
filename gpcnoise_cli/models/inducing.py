"""Where the inducing points start: the centres of k-means on (a sample of) the training inputs."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.errors import UsageError

# k-means needs a picture of the data, not all of it: 50 rows a centre, within these limits.
ROWS_PER_CENTRE, LEAST_ROWS, MOST_ROWS = 50, 5_000, 50_000
MINIBATCH = 2048
SCIPY_STARTS = 20  # its default


def check_number(m: int, n: int) -> None:
    """Refuse more inducing points than training rows."""
    if m > n:
        raise UsageError(
            f"{m} inducing points are more than the {n} training rows; choose --inducing {n} or less "
            "(a third of the rows is plenty)."
        )


def start_inducing_points(X: NDArray[np.floating], m: int, seed: int, start: str = "minibatch") -> NDArray[np.float64]:
    """`m` centres in the space of X; a large X is sampled first."""
    n = len(X)
    check_number(m, n)
    distinct = np.unique(X, axis=0) if 2 * m >= n else X
    if len(distinct) == m:  # k-means with as many centres as rows would only give the rows back
        return np.asarray(distinct, dtype=np.float64)
    sample = min(n, int(np.clip(ROWS_PER_CENTRE * m, LEAST_ROWS, MOST_ROWS)))
    rng = np.random.default_rng(seed)
    rows = X if sample == n else X[np.sort(rng.choice(n, size=sample, replace=False))]
    rows = np.asarray(rows, dtype=np.float64)
    centres = _best_of_several(rows, m, rng) if start == "scipy" else _of_one_start(rows, m, seed)
    return _distinct(centres, rng)


def _of_one_start(rows: NDArray[np.float64], m: int, seed: int) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    # Few rows need no minibatches, which would let centres coincide when there are almost as many as rows.
    means = MiniBatchKMeans(m, batch_size=MINIBATCH, n_init=1, max_iter=50, random_state=seed)
    if len(rows) <= MINIBATCH:
        means = KMeans(m, n_init=1, max_iter=50, random_state=seed)
    # One thread: the same centres on any number of cores. The warning is of repeated rows; `_distinct` sees to them.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(rows)
    return np.asarray(means.cluster_centers_, dtype=np.float64)


def _best_of_several(rows: NDArray[np.float64], m: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """SciPy's k-means, the authors': the best of several starts; centres that it drops as empty become rows."""
    from scipy.cluster.vq import kmeans

    centres, _ = kmeans(rows, m, iter=SCIPY_STARTS, rng=rng)
    missing = rng.choice(len(rows), size=m - len(centres), replace=False)
    return np.concatenate([np.asarray(centres, dtype=np.float64), rows[missing]])


def start_further_points(X: NDArray[np.floating], Z: NDArray[np.floating], m: int, seed: int) -> NDArray[np.float64]:
    """`m` centres of another k-means, none of them where a point of `Z` is: there they would add nothing."""
    points = np.concatenate([Z, start_inducing_points(X, m, seed + 1)])
    return _distinct(points, np.random.default_rng(seed))[len(Z) :]


def _distinct(centres: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Coinciding centres (data with repeated rows) would make K_mm singular: move the copies a little."""
    _, first = np.unique(centres.round(9), axis=0, return_index=True)
    copies = np.setdiff1d(np.arange(len(centres)), first)
    centres[copies] += 1e-3 * rng.standard_normal((len(copies), centres.shape[1]))
    return centres
