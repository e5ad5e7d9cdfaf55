"""The kernels one may choose, each a GPflow kernel with the paper's start values (App. D).

`in_dtype` gives a view of any GPflow kernel whose parameters are cast to another dtype: gradients still reach the
original parameters, and K_mn can be computed in float32 beside a float64 K_mm.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.kernels import Kernel

from gpcnoise_cli.errors import unknown_choice

Lengthscales: TypeAlias = "np.float64 | np.ndarray"


def _matern52_plus_rbf(lengthscales: Lengthscales, variance: float, d: int) -> Kernel:
    # App. D: a short Matérn part that starts like the others, and a smooth part at √d.
    smooth = np.ones_like(lengthscales) * np.sqrt(d)
    rough = gpflow.kernels.Matern52(variance=variance, lengthscales=lengthscales)
    return rough + RBF(variance=variance, lengthscales=smooth)


@tf.custom_gradient
def _rbf(X: tf.Tensor, Z: tf.Tensor, lengthscales: tf.Tensor, variance: tf.Tensor) -> Any:
    """σ² exp(−½|x − z|²) = exp((x, −½|x|², 1) · (z, 1, log σ² − ½|z|²)) for scaled rows x and z: [n, m], one product.

    With W = ∂K ∘ K, the gradients in Z, ℓ and σ² need only Wᵀ(x, x², 1); that in X is left out where X is data.
    """
    x, z = X / lengthscales, Z / lengthscales
    x_squared, z_squared = (tf.reduce_sum(tf.square(rows), axis=1, keepdims=True) for rows in (x, z))
    left = tf.concat([x, -0.5 * x_squared, tf.ones_like(x_squared)], axis=1)
    right = tf.concat([z, tf.ones_like(z_squared), tf.math.log(variance) - 0.5 * z_squared], axis=1)
    K = tf.exp(tf.matmul(left, right, transpose_b=True))

    def gradient(d_K: tf.Tensor) -> tuple[tf.Tensor, ...]:
        W = d_K * K
        d, ard = x.shape[1], lengthscales.shape.num_elements() > 1
        features = tf.concat([x, tf.square(x) if ard else x_squared, tf.ones_like(x_squared)], axis=1)
        sums = tf.matmul(W, features, transpose_a=True)
        of_x, of_squares, of_one = sums[:, :d], sums[:, d:-1], sums[:, -1:]
        d_x = tf.matmul(W, z) - tf.reduce_sum(W, axis=1, keepdims=True) * x
        d_z = of_x - of_one * z
        # Σ W (x − z)²: of each feature, or of all
        axis = 0 if ard else None
        distances = tf.reduce_sum(of_squares, axis) + tf.reduce_sum(z * (of_one * z - 2 * of_x), axis)
        return d_x / lengthscales, d_z / lengthscales, distances / lengthscales, tf.reduce_sum(of_one) / variance

    return K, gradient


class RBF(gpflow.kernels.RBF):
    """GPflow's kernel in one product, with a gradient of its own."""

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        if len(X.shape) != 2:  # several sets of rows at once
            return super().K(X, X2)
        lengthscales, variance = tf.convert_to_tensor(self.lengthscales), tf.convert_to_tensor(self.variance)
        return _rbf(X, X if X2 is None else X2, lengthscales, variance)


KERNELS: dict[str, Callable[[Lengthscales, float, int], Kernel]] = {
    "rbf": lambda ell, variance, d: RBF(variance=variance, lengthscales=ell),
    "matern32": lambda ell, variance, d: gpflow.kernels.Matern32(variance=variance, lengthscales=ell),
    "matern52": lambda ell, variance, d: gpflow.kernels.Matern52(variance=variance, lengthscales=ell),
    "matern52+rbf": _matern52_plus_rbf,
}


def build_kernel(
    name: str, d: int, *, lengthscale: float, variance: float = 5.0, ard: bool = False, log_scale: bool = False
) -> Kernel:
    """One kernel on `d` inputs, every lengthscale starting at `lengthscale`.

    With `log_scale` an optimizer's step changes a parameter by a part of itself. GPflow's usual softplus is the
    identity for large values, so that a variance on its way to 400 would crawl there.
    """
    if name not in KERNELS:
        raise unknown_choice("kernel", name, KERNELS)
    lengthscales = np.full(d, lengthscale) if ard else np.float64(lengthscale)
    bijector = "exp" if log_scale else "softplus"
    with gpflow.config.as_context(replace(gpflow.config.config(), positive_bijector=bijector)):
        return KERNELS[name](lengthscales, variance, d)


def start_lengthscale(start: str, X: np.ndarray, seed: int = 0) -> float:
    """`paper`: 0.1√d. `data`: the median distance between rows, from a sample of 1000."""
    d = X.shape[1]
    if start == "paper":
        return 0.1 * float(np.sqrt(d))
    from scipy.spatial.distance import pdist

    rows = np.random.default_rng(seed).permutation(len(X))[:1000]
    median = float(np.median(pdist(np.asarray(X[rows], dtype=np.float64)))) if len(rows) > 1 else 0.0
    return median if median > 0 else float(np.sqrt(d))


def in_dtype(kernel: Kernel, dtype: tf.DType) -> Kernel:
    """The same kernel with its parameters cast to `dtype`; for use inside one computation, never to be stored."""
    view = copy.copy(kernel)
    if isinstance(kernel, gpflow.kernels.Combination):
        view.kernels = [in_dtype(part, dtype) for part in kernel.kernels]
        return view
    for name, value in vars(kernel).items():
        if isinstance(value, gpflow.Parameter):
            setattr(view, name, tf.cast(value, dtype))
        elif isinstance(value, Kernel):  # a kernel around another one, such as Periodic
            setattr(view, name, in_dtype(value, dtype))
    return view
