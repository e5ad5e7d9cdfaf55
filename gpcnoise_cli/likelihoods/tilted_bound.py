"""The tilted bound on E[log softmax]: closed form for any weights α, and nearly exact for the best ones.

For f_c ~ N(μ_c, ν_c) independent and any α, log Σ exp f_c = α·f + log Σ exp(f_c − α·f), and Jensen's inequality on the
second term gives

    E[log softmax(f)_y] ≥ μ_y − ½ Σ α_c² ν_c − logsumexp_c(μ_c + (1 − 2α_c) ν_c / 2).

At α = onehot(y) this is the paper's eq_ELBO_sm. The right side is concave in α and stationary where α is the softmax
of the exponents, α_c = exp(μ_c + ν_c/2 − ν_c α_c − λ) with λ their logsumexp. Iterating that fixed point with damping
is slow once ν is more than a few. For given λ, however, each α_c is known by itself, ν_c α_c = ω(μ_c + ν_c/2 + log
ν_c − λ) with ω the Wright function (ω + log ω = its argument), and Σ α_c(λ) − 1 is convex and decreasing in λ: one
scalar root per point. Newton's method from the left of it cannot overshoot; the step below is a little longer to save
rounds, and one that does overshoot is followed by a plain Newton step, which leads back to the left. A fixed, small
number of rounds is run, enough for convergence at the variances met in training.

α is then held constant: the bound is valid for any α, so its gradient at fixed α is the gradient of a valid bound,
and at the optimum (envelope theorem) it is the gradient of the optimised one.
"""

from __future__ import annotations

import tensorflow as tf

from gpcnoise_cli.likelihoods.numerics import ValueAndGradients, floored_variance

NEWTON_ROUNDS = 6
_OMEGA_ROUNDS = 3
_TINY = 1e-30


def tilted_bound(Fmu: tf.Tensor, Fvar: tf.Tensor, one_hot: tf.Tensor) -> ValueAndGradients:
    """The bound at (nearly) the best α, [...], and its gradients by `Fmu` and `Fvar` at that α, [..., C]."""
    Fvar = tf.maximum(Fvar, 0.0)
    alpha = tf.stop_gradient(best_alpha(Fmu, Fvar))
    shift = 1.0 - 2.0 * alpha
    observed_mean = tf.reduce_sum(one_hot * Fmu, axis=-1, keepdims=True)
    # Differences to μ_y first: a confident point has a value near zero, not a difference of large numbers.
    exponents = Fmu - observed_mean + 0.5 * shift * Fvar
    log_total = tf.reduce_logsumexp(exponents, axis=-1, keepdims=True)
    weights = tf.exp(exponents - log_total)
    value = -0.5 * tf.reduce_sum(tf.square(alpha) * Fvar, axis=-1) - log_total[..., 0]
    return value, one_hot - weights, -0.5 * (tf.square(alpha) + weights * shift)


def best_alpha(Fmu: tf.Tensor, Fvar: tf.Tensor) -> tf.Tensor:
    """The maximiser α of the tilted bound, which does not depend on the label; rows are positive and sum to one."""
    variance = floored_variance(Fvar)
    classes = tf.cast(tf.shape(Fmu)[-1], Fmu.dtype)
    upper = Fmu + 0.5 * variance
    argument = upper + tf.math.log(variance)

    # Every λ below is left of the root: where α_c(λ) ≥ p_c for all c of some p on the simplex, Σ α_c ≥ 1.
    guess = tf.nn.softmax(Fmu * tf.math.rsqrt(1.0 + 0.4 * variance))
    guess = (guess + 1e-6) / (1.0 + 1e-6 * classes)
    starts = (
        tf.reduce_max(Fmu - 0.5 * variance, axis=-1, keepdims=True),  # p = one class
        tf.reduce_min(upper - variance * guess - tf.math.log(guess), axis=-1, keepdims=True),
        tf.reduce_min(upper - variance / classes + tf.math.log(classes), axis=-1, keepdims=True),
    )
    level = tf.maximum(tf.maximum(starts[0], starts[1]), starts[2])
    alpha, total = guess, tf.ones_like(level)
    for _ in range(NEWTON_ROUNDS):
        scaled = _wright_omega(argument - level)
        alpha = scaled / variance
        total = tf.reduce_sum(alpha, axis=-1, keepdims=True)
        descent = tf.reduce_sum(alpha / (1.0 + scaled), axis=-1, keepdims=True)
        # Small variances make Σα exponential in λ, where Newton on its logarithm is exact; large ones make it linear.
        exponential = descent / total
        step = exponential * total * tf.math.log(total) + (1.0 - exponential) * (total - 1.0)
        level += tf.where(total > 1.0, step, total - 1.0) / descent
    return alpha / total


def _wright_omega(z: tf.Tensor) -> tf.Tensor:
    """ω with ω + log ω = z, by Newton's method from its two asymptotes; floored at a tiny number."""
    tiny = tf.cast(_TINY, z.dtype)
    power = tf.exp(tf.minimum(z, 1.0))
    capped = tf.maximum(z, 1.0)
    omega = tf.maximum(tf.where(z > 1.0, capped - tf.math.log(capped), power / (1.0 + power)), tiny)
    for _ in range(_OMEGA_ROUNDS):
        omega = tf.maximum(omega * (1.0 + z - tf.math.log(omega)) / (1.0 + omega), tiny)
    return omega
