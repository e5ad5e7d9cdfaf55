"""App. B: could the noise variance a be learned like a hyperparameter? The bound of trained models as a function of a.

q(f) and δ are kept as training left them, and a runs through a grid, so the KL term is a constant. The derivative is
taken three ways: by the paper's formulas, written out here with a quadrature of their own, by automatic differentiation
through the likelihood, and by central differences. The paper argues that it is negative: in the binary case where
y μ > 0, in the multi-class case by the sign of two terms. Both are counted point by point, since the first leaves out
the points that the model gets wrong, and the second bounds an integrand that changes sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.config.quoting import Scalar
from gpcnoise_cli.data.folder import is_present
from gpcnoise_cli.data.registry import get_spec
from gpcnoise_cli.figures.result import Row, holds
from gpcnoise_cli.figures.runs import Run, Runs
from gpcnoise_cli.figures.settings import GAUSSIAN_METHODS, NoiseSettings
from gpcnoise_cli.figures.toy import present_toys, toy_overrides
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS

Array = NDArray[np.float64]
Labels = NDArray[np.integer]

GRID = np.concatenate([[0.0], np.geomspace(0.03, 10.0, 22)])
METHOD_A = {name: float(LIKELIHOODS[name].noise_variance or 0.0) for name in GAUSSIAN_METHODS}
NODES = 128
MOST_ROWS = 5000
# At a = 0 a point of tiny variance is a step to every quadrature: the derivatives are compared from here on.
DERIVATIVE_FROM = 0.03


@dataclass(frozen=True)
class NoiseCurve:
    """One trained model: L(a) and its derivative on the grid."""

    dataset: str
    likelihood: str
    classes: int
    rows: int
    delta: float
    trained_elbo: float
    a: Array
    elbo: Array
    by_paper: Array
    by_autodiff: Array
    by_differences: Array
    at_methods: dict[str, float]
    right: float
    """Part of the rows whose observed class has the largest mean."""
    rising: float
    """Part of the rows whose term rises with a, at the model's own a (probit's for the step)."""
    rising_though_right: float
    """Part of the rows that are right and yet rise."""
    second_term_positive: float | None
    """Multi-class: part of the rows whose second term, which the paper bounds by zero, is positive."""
    second_term_positive_though_right: float | None

    @property
    def disagreement(self) -> float:
        """The largest relative difference between the three derivatives where all are taken."""
        use = self.a >= DERIVATIVE_FROM
        scale = np.abs(self.by_paper[use]).max()
        return float(
            max(np.abs(other[use] - self.by_paper[use]).max() for other in (self.by_autodiff, self.by_differences))
            / scale
        )

    @property
    def falls(self) -> bool:
        return bool(np.all(self.by_paper[self.a >= DERIVATIVE_FROM] < 0))

    @property
    def ordered(self) -> bool:
        """L_I > L_II > L_III for the same model."""
        step, probit, logit = (self.at_methods[name] for name in GAUSSIAN_METHODS)
        return step > probit > logit


@dataclass(frozen=True)
class NoiseResult:
    curves: tuple[NoiseCurve, ...]
    missing: tuple[str, ...]

    def tables(self) -> dict[str, Sequence[Row]]:
        points = [
            {
                "dataset": c.dataset,
                "trained_as": c.likelihood,
                "a": a,
                "elbo": c.elbo[i],
                "derivative_paper": c.by_paper[i],
                "derivative_autodiff": c.by_autodiff[i],
                "derivative_differences": c.by_differences[i],
            }
            for c in self.curves
            for i, a in enumerate(c.a)
        ]
        models = [
            {
                "dataset": c.dataset,
                "trained_as": c.likelihood,
                "classes": c.classes,
                "rows": c.rows,
                "delta": c.delta,
                **{f"elbo_{name}": value for name, value in c.at_methods.items()},
                "elbo_when_trained": c.trained_elbo,
                "rows_right": c.right,
                "rows_rising": c.rising,
                "rows_rising_though_right": c.rising_though_right,
                "rows_second_term_positive": c.second_term_positive,
                "rows_second_term_positive_though_right": c.second_term_positive_though_right,
                "derivatives_disagree_by": c.disagreement,
            }
            for c in self.curves
        ]
        return {"noise": points, "models": models}

    def findings(self) -> list[str]:
        falling = [c for c in self.curves if c.falls]
        ordered = [c for c in self.curves if c.ordered]
        said = [
            f"The paper's derivative, automatic differentiation and differences agree to "
            f"{max(c.disagreement for c in self.curves):.1e} of its largest value, on all {len(self.curves)} models.",
            f"∂L/∂a is negative all along the grid for {len(falling)} of {len(self.curves)} models "
            f"({holds(len(falling) == len(self.curves))}): for these, learning a would drive it to 0."
            + _exceptions([c for c in self.curves if not c.falls]),
            f"With everything else kept, L_I > L_II > L_III for {len(ordered)} of {len(self.curves)} models "
            f"({holds(len(ordered) == len(self.curves))})." + _exceptions([c for c in self.curves if not c.ordered]),
        ]
        worst = max(self.curves, key=lambda c: c.rising)
        said.append(
            f"Point by point it is no law: up to {100 * worst.rising:.1f}% of the rows ({worst.likelihood} on "
            f"{worst.dataset}) have a term that rises with a"
            + (
                "; all of them are rows whose observed class is not the one with the largest mean."
                if all(c.rising_though_right == 0 for c in self.curves)
                else f", and not only rows that are classified wrongly: of the rightly classified too, up to "
                f"{100 * max(c.rising_though_right for c in self.curves):.1f}% of all rows, so the multi-class proof, "
                "which claims it for every point, does not hold as it stands."
            )
            if worst.rising > 0
            else "The term of every single row falls with a."
        )
        return said + self._about_the_proof() + self._retrained() + [f"Left out: {reason}" for reason in self.missing]

    def _about_the_proof(self) -> list[str]:
        """The multi-class proof bounds the second term of the derivative by zero for every row."""
        multi = [c for c in self.curves if c.second_term_positive is not None]
        if not multi:
            return []
        most = max(c.second_term_positive or 0.0 for c in multi)
        right = max(c.second_term_positive_though_right or 0.0 for c in multi)
        where = (
            f"{100 * right:.1f}% of the rows even though they are right" if right else "none of the rows that are right"
        )
        return [
            f"In the multi-class derivative the term that the paper bounds by zero for every row is positive at up to "
            f"{100 * most:.1f}% of the rows, and at {where}: the step "
            f"{'holds' if most == 0 else 'holds for sensible predictions only' if right == 0 else 'does not hold'}."
        ]

    def _retrained(self) -> list[str]:
        """What becomes of the order when each method is trained for itself."""
        said = []
        for name in dict.fromkeys(c.dataset for c in self.curves):
            own = {c.likelihood: c.trained_elbo for c in self.curves if c.dataset == name}
            if len(own) == len(GAUSSIAN_METHODS):
                best = max(own, key=lambda key: own[key])
                values = ", ".join(f"{LIKELIHOODS[key].label} {own[key]:.1f}" for key in GAUSSIAN_METHODS)
                winner = LIKELIHOODS[best].label
                said.append(f"Trained each for itself on {name}, the bounds are {values}: the highest is {winner}'s.")
        return said

    def summary(self) -> dict[str, Any]:
        return {"models": list(self.tables()["models"]), "missing": list(self.missing)}


def _exceptions(curves: list[NoiseCurve]) -> str:
    return f" Not for {', '.join(f'{c.likelihood} on {c.dataset}' for c in curves)}." if curves else ""


def compute(settings: NoiseSettings, runs: Runs) -> NoiseResult:
    """The three Gaussian-noise methods on every toy and larger set that is here."""
    toys, missing = present_toys()
    asked: list[dict[str, Scalar]] = [toy_overrides(name, m, settings) for name in toys for m in GAUSSIAN_METHODS]
    here = [name for name in settings.sets if get_spec(name).generated or is_present(get_spec(name))]
    for name in here:
        for method in GAUSSIAN_METHODS:
            larger: dict[str, Scalar] = {"preset": "fast", "dataset": name, "likelihood": method}
            larger["inducing"] = settings.set_inducing
            if settings.set_iterations is not None:
                larger["iterations"] = settings.set_iterations
            asked.append(larger)
    curves = tuple(noise_curve(runs.train(overrides)) for overrides in asked)
    absent = tuple(f"{name!r} is not in the data folder." for name in settings.sets if name not in here)
    return NoiseResult(curves, (*missing, *absent))


def noise_curve(run: Run) -> NoiseCurve:
    """L(a) on the grid for one model, over its training rows (the first 5000 of a larger set, scaled up)."""
    from gpcnoise_cli.methods.svgp import model_of
    from gpcnoise_cli.runs.train import load_data

    trained = run.load()
    split = load_data(trained.config)
    X, y = split.X_train[:MOST_ROWS], split.y_train[:MOST_ROWS]
    mu, nu = (np.asarray(block, dtype=np.float64) for block in model_of(trained).predict_f(X))
    nu = np.maximum(nu, 1e-9)
    classes, delta, scale = split.num_classes, float(run.record["delta"]), split.n_train / len(X)
    kl = float(model_of(trained).prior_kl())
    slope = np.log((1 - delta) * (classes - 1) / delta)
    methods = np.array(list(METHOD_A.values()))
    h = 1e-3 * np.maximum(GRID, 1e-2)
    above, below = GRID + h, np.maximum(GRID - h, 0.0)
    values, slopes = _elbo_and_autodiff(mu, nu, y, classes, delta, np.concatenate([GRID, methods, above, below]))
    elbo, at_methods, up, down = np.split(values, np.cumsum([len(GRID), len(methods), len(GRID)]))
    by_paper = slope * np.array([agreement_derivative(mu, nu, y, a).sum() for a in GRID])
    here = METHOD_A[run.cell.config.likelihood.name] or METHOD_A["probit"]
    terms = agreement_derivative(mu, nu, y, here)
    right = mu.argmax(axis=1) == y if classes > 2 else (mu[:, 0] > 0) == (y == 1)
    positive = _multiclass_terms(mu, nu, y, here)[1] > 0 if classes > 2 else None
    return NoiseCurve(
        dataset=split.dataset,
        likelihood=run.cell.config.likelihood.name,
        classes=classes,
        rows=len(X),
        delta=delta,
        trained_elbo=float(run.record["elbo"]),
        a=GRID,
        elbo=scale * elbo - kl,
        by_paper=scale * by_paper,
        by_autodiff=scale * slopes[: len(GRID)],
        by_differences=scale * (up - down) / (above - below),
        at_methods=dict(zip(METHOD_A, (scale * at_methods - kl).tolist(), strict=True)),
        right=float(np.mean(right)),
        rising=float(np.mean(terms > 0)),
        rising_though_right=float(np.mean((terms > 0) & right)),
        second_term_positive=None if positive is None else float(np.mean(positive)),
        second_term_positive_though_right=None if positive is None else float(np.mean(positive & right)),
    )


def _elbo_and_autodiff(
    mu: Array, nu: Array, y: Labels, classes: int, delta: float, values: Array
) -> tuple[Array, Array]:
    """Σ E at each a and its derivative by a tape; the step likelihood with variance ν + a is the one with noise a."""
    import tensorflow as tf

    from gpcnoise_cli.likelihoods.registry import build_likelihood

    likelihood = build_likelihood("step", classes, delta=delta, delta_mode="fixed", quadrature_points=NODES)
    no_inputs, labels = tf.zeros((len(mu), 0), tf.float64), tf.constant(y[:, None])
    means, variances = tf.constant(mu), tf.constant(nu)

    @tf.function(autograph=False)
    def value_and_derivative(a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(a)
            total = tf.reduce_sum(likelihood.variational_expectations(no_inputs, means, variances + a, labels))
        return total, tape.gradient(total, a)

    pairs = [value_and_derivative(tf.constant(a, tf.float64)) for a in values]
    return np.array([float(total) for total, _ in pairs]), np.array([float(slope) for _, slope in pairs])


def agreement_derivative(mu: Array, nu: Array, y: Labels, a: float) -> Array:
    """∂S_i/∂a by the formulas of App. B, per row."""
    if mu.shape[1] == 1:
        return _binary_derivative(mu[:, 0], nu[:, 0], y, a)
    rivals, density = _multiclass_terms(mu, nu, y, a)
    return rivals + density


def _binary_derivative(mu: Array, nu: Array, y: Labels, a: float) -> Array:
    total = a + nu
    z = (2.0 * y - 1.0) * mu / np.sqrt(total)
    return -0.5 * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) * z / total


def _multiclass_terms(mu: Array, nu: Array, y: Labels, a: float) -> tuple[Array, Array]:
    """The two terms of ∂S_i/∂a: the rivals' share, and that of the observed class's own density."""
    from scipy.special import log_ndtr

    from gpcnoise_cli.likelihoods.numerics import gauss_hermite

    nodes, weights = gauss_hermite(NODES)
    rows, total = np.arange(len(mu)), a + nu
    own = total[rows, y]
    g = mu[rows, y][:, None] + np.sqrt(own)[:, None] * nodes
    z = (g[:, :, None] - mu[:, None, :]) / np.sqrt(total)[:, None, :]
    log_cdf = log_ndtr(z)
    log_density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    observed = np.zeros(mu.shape, dtype=bool)
    observed[rows, y] = True
    log_cdf[np.broadcast_to(observed[:, None, :], log_cdf.shape)] = 0.0
    log_all = log_cdf.sum(axis=2)
    # φ(z_c) Π_{c' ≠ y, c} Φ(z_c'), then times (g − μ_c)/(a + ν_c)^{3/2} = z_c/(a + ν_c)
    each = np.exp(log_density + log_all[:, :, None] - log_cdf) * z / total[:, None, :]
    each[np.broadcast_to(observed[:, None, :], each.shape)] = 0.0
    rivals = -0.5 * each.sum(axis=2) @ weights
    # The density's derivative by its variance is φ · (x² − 1)/(2 (a + ν_y)) at the standardised node x.
    density = (np.exp(log_all) * (nodes**2 - 1.0)) @ weights / (2.0 * own)
    return rivals, density
