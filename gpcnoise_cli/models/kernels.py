"""The kernels one may choose, each a GPflow kernel with the paper's start values (App. D), and one of them per class.

Every one is stationary, K = σ² φ(|x − z|²) for rows divided by their lengthscales, or a sum of such. Distances are
taken in float64 whatever K is wanted in: |x|² − 2xz + |z|² loses to cancellation what the size of x is worth, the more
the shorter the lengthscales, and the error in K is amplified by L⁻¹ later on. That product is small beside those with
m×m matrices; φ and all gradients are in the dtype of K.

`PerClass` holds one kernel for each class as a single set of stacked parameters, so that all their matrices are a few
batched operations. `in_dtype` gives a view of any other GPflow kernel whose parameters are cast to another dtype.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.kernels import Kernel, MultioutputKernel, SeparateIndependent

from gpcnoise_cli.errors import unknown_choice
from gpcnoise_cli.models.conditional import product

Lengthscales: TypeAlias = "np.float64 | np.ndarray"
# σ²φ and its slope −2σ²φ′, from −½|x − z|² and σ²: both [G, n, m] in the dtype wanted. The Gaussian one finds log σ²
# added to its exponent already.
Profile: TypeAlias = "Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]"


def _gaussian(half: tf.Tensor, variance: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    K = tf.exp(half)
    return K, K


def _matern32(half: tf.Tensor, variance: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    t = tf.sqrt(tf.maximum(-6.0 * half, 1e-36))  # √3 |x − z|
    decay = variance * tf.exp(-t)
    return (1.0 + t) * decay, 3.0 * decay


def _matern52(half: tf.Tensor, variance: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    t = tf.sqrt(tf.maximum(-10.0 * half, 1e-36))  # √5 |x − z|
    decay = variance * tf.exp(-t)
    linear = (1.0 + t) * decay
    return linear + tf.square(t) * decay / 3.0, 5.0 / 3.0 * linear


def _stationary(
    profile: Profile, X: tf.Tensor, Z: tf.Tensor, lengthscales: tf.Tensor, variance: tf.Tensor, dtype: tf.DType
) -> tf.Tensor:
    """K between the rows of X [n, d] and Z [m, d] for lengthscales [G, d] or [G, 1] and variances [G]: [G, n, m].

    With W = ∂K ∘ (−2σ²φ′) the gradients in Z and ℓ need only Wᵀ(x, x², 1); that in X is pruned where X is data.
    """

    @tf.custom_gradient
    def covariance(X: tf.Tensor, Z: tf.Tensor, lengthscales: tf.Tensor, variance: tf.Tensor) -> Any:
        scale = lengthscales[:, None, :]
        x, z = X / scale, Z / scale
        x_squared, z_squared = (tf.reduce_sum(tf.square(rows), axis=2, keepdims=True) for rows in (x, z))
        left = tf.concat([x, -0.5 * x_squared, tf.ones_like(x_squared)], axis=2)
        offset = tf.math.log(variance)[:, None, None] if profile is _gaussian else 0.0
        right = tf.concat([z, tf.ones_like(z_squared), offset - 0.5 * z_squared], axis=2)
        half = tf.cast(product(left, right, transpose_b=True), dtype)
        K, slope = profile(half, tf.cast(variance, dtype)[:, None, None])

        def gradient(d_K: tf.Tensor) -> tuple[tf.Tensor, ...]:
            W = d_K * slope
            d, ard = x.shape[2], lengthscales.shape[1] > 1
            features = tf.concat([x, tf.square(x) if ard else x_squared, tf.ones_like(x_squared)], axis=2)
            # The small factor first is faster.
            sums = tf.linalg.matrix_transpose(tf.cast(product(tf.cast(features, dtype), W, transpose_a=True), X.dtype))
            of_x, of_squares, of_one = sums[:, :, :d], sums[:, :, d:-1], sums[:, :, -1:]
            row_sums = tf.cast(tf.reduce_sum(W, axis=2, keepdims=True), X.dtype)
            d_x = tf.cast(product(W, tf.cast(z, dtype)), X.dtype) - row_sums * x
            d_z = of_x - of_one * z
            # Σ W (x − z)²: of each feature, or of all
            cross = tf.reduce_sum(z * (of_one * z - 2 * of_x), axis=1)
            distances = tf.reduce_sum(of_squares, axis=1) + (
                cross if ard else tf.reduce_sum(cross, axis=1, keepdims=True)
            )
            by_value = of_one if K is slope else tf.cast(tf.reduce_sum(d_K * K, axis=2, keepdims=True), X.dtype)
            return (
                tf.reduce_sum(d_x / scale, axis=0),
                tf.reduce_sum(d_z / scale, axis=0),
                distances / lengthscales,
                tf.reduce_sum(by_value, axis=[1, 2]) / variance,
            )

        return K, gradient

    return covariance(*(tf.cast(tensor, tf.float64) for tensor in (X, Z, lengthscales, variance)))


def _tied(lengthscales: tf.Tensor, ties: np.ndarray) -> tf.Tensor:
    """The same lengthscales [G, d]; each has the sum of the gradients of all that it shares its value with.

    Equal at the start and moved by the same amounts they stay equal, so that a stored model has one for each input,
    as every other.
    """

    @tf.custom_gradient
    def tied(values: tf.Tensor) -> Any:
        return tf.identity(values), lambda gradient: tf.matmul(gradient, tf.constant(ties, gradient.dtype))

    return tied(lengthscales)


class Stationary(gpflow.kernels.IsotropicStationary):
    """A GPflow kernel by one product and one profile φ, with a gradient of its own; its parameters may be stacked."""

    profile: Profile
    ties: np.ndarray | None = None  # [d, d]: one where two inputs share a lengthscale

    def stacked(self, X: tf.Tensor, Z: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """[G, n, m], one matrix for each set of parameters."""
        variance = tf.reshape(tf.convert_to_tensor(self.variance), [-1])
        lengthscales = tf.reshape(tf.convert_to_tensor(self.lengthscales), [variance.shape[0], -1])
        if self.ties is not None:
            lengthscales = _tied(lengthscales, self.ties)
        return _stationary(type(self).profile, X, Z, lengthscales, variance, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        if len(X.shape) != 2:  # several sets of rows at once
            return super().K(X, X2)
        return self.stacked(X, X if X2 is None else X2, X.dtype)[0]


class RBF(Stationary, gpflow.kernels.RBF):
    profile = staticmethod(_gaussian)


class Matern32(Stationary, gpflow.kernels.Matern32):
    profile = staticmethod(_matern32)


class Matern52(Stationary, gpflow.kernels.Matern52):
    profile = staticmethod(_matern52)


def _matern52_plus_rbf(lengthscales: Lengthscales, variance: float, d: int) -> Kernel:
    # App. D: a short Matérn part that starts like the others, and a smooth part at √d.
    smooth = np.ones_like(lengthscales) * np.sqrt(d)
    return Matern52(variance=variance, lengthscales=lengthscales) + RBF(variance=variance, lengthscales=smooth)


KERNELS: dict[str, Callable[[Lengthscales, float, int], Kernel]] = {
    "rbf": lambda ell, variance, d: RBF(variance=variance, lengthscales=ell),
    "matern32": lambda ell, variance, d: Matern32(variance=variance, lengthscales=ell),
    "matern52": lambda ell, variance, d: Matern52(variance=variance, lengthscales=ell),
    "matern52+rbf": _matern52_plus_rbf,
}


class PerClass(SeparateIndependent):
    """One kernel for each class, all starting as `kernel`, with stacked parameters: lengthscales [C] or [C, d], …

    To GPflow it is its own SeparateIndependent, whose kernels are views of the stack.
    """

    def __init__(self, kernel: Kernel, num_classes: int) -> None:
        Kernel.__init__(self)
        self.stack = _with_parameters(kernel, lambda p: _tiled(p, num_classes))
        self.num_classes = num_classes

    @property
    def num_latent_gps(self) -> int:
        return self.num_classes

    @property
    def kernels(self) -> list[Kernel]:
        def one(c: int) -> Kernel:
            return _with_parameters(self.stack, lambda parameter: tf.convert_to_tensor(parameter)[c])

        return [one(c) for c in range(self.num_classes)]


def covariances(kernel: Kernel, X: tf.Tensor, Z: tf.Tensor | None, dtype: tf.DType) -> tf.Tensor:
    """K between the rows of X and Z in `dtype`: [G, n, m], G the number of kernels (one, or one per class).

    Without Z it is that of X with itself, which for some kernels (white noise) is not the same as Z = X.
    """
    if isinstance(kernel, PerClass):
        return covariances(kernel.stack, X, Z, dtype)
    if isinstance(kernel, MultioutputKernel):
        return tf.concat([covariances(one, X, Z, dtype) for one in kernel.latent_kernels], axis=0)
    if isinstance(kernel, gpflow.kernels.Sum):
        return tf.add_n([covariances(part, X, Z, dtype) for part in kernel.kernels])
    if isinstance(kernel, Stationary) and kernel.active_dims == slice(None):
        return kernel.stacked(X, X if Z is None else Z, dtype)
    with _default_float(dtype):
        K = in_dtype(kernel, dtype)(tf.cast(X, dtype), None if Z is None else tf.cast(Z, dtype))
    return tf.ensure_shape(K, [X.shape[0], (X if Z is None else Z).shape[0]])[None]  # some GPflow kernels lose it


def prior_variances(kernel: Kernel, X: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """diag K at the rows of X: [G, n]."""
    if isinstance(kernel, PerClass):
        return prior_variances(kernel.stack, X, dtype)
    if isinstance(kernel, MultioutputKernel):
        return tf.concat([prior_variances(one, X, dtype) for one in kernel.latent_kernels], axis=0)
    if isinstance(kernel, gpflow.kernels.Sum):
        return tf.add_n([prior_variances(part, X, dtype) for part in kernel.kernels])
    if isinstance(kernel, Stationary):
        variance = tf.cast(tf.reshape(tf.convert_to_tensor(kernel.variance), [-1, 1]), dtype)
        return tf.broadcast_to(variance, [variance.shape[0], tf.shape(X)[0]])
    with _default_float(dtype):
        return in_dtype(kernel, dtype)(tf.cast(X, dtype), full_cov=False)[None]


def build_kernel(
    name: str,
    d: int,
    *,
    lengthscale: float,
    variance: float = 5.0,
    ard: bool = False,
    log_scale: bool = False,
    units: int | None = None,
    columns: Sequence[str] | None = None,
) -> Kernel:
    """One kernel on `d` inputs, every lengthscale starting at `lengthscale`.

    With `log_scale` an optimizer's step changes a parameter by a part of itself. GPflow's usual softplus is the
    identity for large values, so that a variance on its way to 400 would crawl there. `units`: see
    `start_lengthscale`. Inputs with the same name in `columns` share a lengthscale.
    """
    if name not in KERNELS:
        raise unknown_choice("kernel", name, KERNELS)
    lengthscales = np.full(d, lengthscale) if ard else np.float64(lengthscale)
    bijector = "exp" if log_scale else "softplus"
    with gpflow.config.as_context(replace(gpflow.config.config(), positive_bijector=bijector)):
        kernel = KERNELS[name](lengthscales, variance, units or d)
    if ard and columns is not None and len(set(columns)) < d:
        for part in getattr(kernel, "kernels", [kernel]):
            part.ties = np.equal.outer(columns, columns).astype(np.float64)
    return kernel


def start_lengthscale(
    start: str, X: np.ndarray, seed: int = 0, weights: np.ndarray | None = None, units: int | None = None
) -> float:
    """`paper`: 0.1√d. `data`: the median distance between rows, which may have weights, from a sample of 1000.

    `units` stands in the place of d where some features vary by less than one (`Split.units`).
    """
    d = units or X.shape[1]
    if start == "paper":
        return 0.1 * float(np.sqrt(d))
    from scipy.spatial.distance import pdist

    rows = np.random.default_rng(seed).permutation(len(X))[:1000]
    distances = pdist(np.asarray(X[rows], dtype=np.float64))
    if weights is not None:
        median = _weighted_median(distances, weights[rows])
    else:
        median = float(np.median(distances)) if len(rows) > 1 else 0.0
    return median if median > 0 else float(np.sqrt(d))


def _weighted_median(distances: np.ndarray, weights: np.ndarray) -> float:
    """The median distance of rows of which row i stands for `weights[i]` equal ones."""
    first, second = np.triu_indices(len(weights), k=1)  # the order of pdist
    among_equal = np.sum(np.maximum(weights * (weights - 1) / 2, 0.0))
    values, counts = np.append(distances, 0.0), np.append(weights[first] * weights[second], among_equal)
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(counts[order])
    half = reached[-1] / 2
    # Where a value ends exactly in the middle, the median lies between it and the next one.
    low, high = np.searchsorted(reached, half * (1 - 1e-12)), np.searchsorted(reached, half * (1 + 1e-12))
    return float(values[low] + values[min(high, len(values) - 1)]) / 2


def scale_lengthscales(kernel: Kernel, factor: float) -> None:
    """Multiply every lengthscale of the kernel's parts."""
    parts = kernel.stack if isinstance(kernel, PerClass) else kernel
    for part in getattr(parts, "kernels", [parts]):
        part.lengthscales.assign(factor * part.lengthscales.numpy())


def tell_apart(kernel: PerClass, size: float, seed: int) -> None:
    """Move the lengthscales of the kernels of two classes apart, by about `size` of themselves.

    Of two classes only f¹ − f² is seen, so that equal kernels have equal gradients and would stay equal, as one kernel,
    until rounding tells them apart. Every lengthscale moves by an amount of its own, since how the two will differ is
    for the data to say.
    """
    rng = np.random.default_rng(seed)
    for part in getattr(kernel.stack, "kernels", [kernel.stack]):
        value = part.lengthscales.numpy()
        shift = size * rng.standard_normal(value.shape[1:])
        if part.ties is not None:
            shift = part.ties @ shift / np.sum(part.ties, axis=1)
        part.lengthscales.assign(value * np.exp([shift, -shift]))


def in_dtype(kernel: Kernel, dtype: tf.DType) -> Kernel:
    """The same kernel with its parameters cast to `dtype`; for use inside one computation, never to be stored."""
    return _with_parameters(kernel, lambda parameter: tf.cast(parameter, dtype))


def _with_parameters(kernel: Kernel, change: Callable[[gpflow.Parameter], Any]) -> Kernel:
    """A copy of `kernel` with every parameter changed."""
    view = copy.copy(kernel)
    if isinstance(kernel, gpflow.kernels.Combination):
        view.kernels = [_with_parameters(part, change) for part in kernel.kernels]
        return view
    for name, value in vars(kernel).items():
        if isinstance(value, gpflow.Parameter):
            setattr(view, name, change(value))
        elif isinstance(value, Kernel):  # a kernel around another one, such as Periodic
            setattr(view, name, _with_parameters(value, change))
    return view


def _tiled(parameter: gpflow.Parameter, count: int) -> gpflow.Parameter:
    value = parameter.numpy()
    return gpflow.Parameter(np.tile(value, (count,) + (1,) * value.ndim), transform=parameter.transform)


def _default_float(dtype: tf.DType) -> Any:
    """Some GPflow kernels make their constants in the default float."""
    return gpflow.config.as_context(replace(gpflow.config.config(), float=dtype.as_numpy_dtype))


def kernel_state(kernel: Kernel) -> dict[str, float]:
    """Lengthscales and variances of the kernel's parts, averaged over features and classes."""
    parts = kernel.stack if isinstance(kernel, PerClass) else kernel
    found: dict[str, float] = {}
    for part in getattr(parts, "kernels", [parts]):
        if hasattr(part, "lengthscales"):
            name = type(part).__name__.lower()
            found[f"lengthscale_{name}"] = float(np.mean(part.lengthscales.numpy()))
            found[f"variance_{name}"] = float(np.mean(part.variance.numpy()))
    return found
