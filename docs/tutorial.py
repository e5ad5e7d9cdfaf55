"""A first hour with GPCNoiseClassifier: train, check the calibration, explain a prediction, compare likelihoods.

Run it with `python docs/tutorial.py` (a few minutes; with `--quick` a glance at barely trained models), or cell by
cell in an editor that knows `# %%`. The data come with scikit-learn: digits, breast cancer and wine.
"""

# %% What is needed
from __future__ import annotations

import sys

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, train_test_split

from gpcnoise_cli import GPCNoiseClassifier
from gpcnoise_cli.evaluation.calibration import reliability
from gpcnoise_cli.evaluation.metrics import Metrics, clip_probabilities, evaluate

QUICK = "--quick" in sys.argv
# Nothing needs to be set; the miniature stops long before a model is trained.
SETTINGS: dict[str, object] = {"random_state": 0, **({"inducing": 15, "iterations": 12} if QUICK else {})}


def scores(metrics: Metrics) -> str:
    return f"acc {metrics.acc:.2f}%, nll {metrics.nll:.4f}, Brier {metrics.brier:.4f}, ECE {metrics.ece:.4f}"


# %% 1. Train: ten classes of handwritten digits
# The estimator chooses the number of inducing points and the batch size from the data, scales the features, and stops
# when the bound on the evidence no longer rises.
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
if QUICK:
    X_train, y_train = X_train[:200], y_train[:200]
digits = GPCNoiseClassifier(**SETTINGS).fit(X_train, y_train)
p = digits.predict_proba(X_test)
found = evaluate(p, y_test)
print(f"1. digits: {len(y_train)} training rows, m = {digits.n_inducing_}, {digits.n_iter_} steps")
print(f"   {scores(found)}, AUROC {found.auroc:.4f}")
print(f"   of the 90% most confident rows {found.acc_at_90:.2f}% are right")
weakest = min((recall, digit) for digit, recall in enumerate(found.per_class.recall) if recall is not None)
print(f"   the digit found least often is {weakest[1]}: recall {weakest[0]:.3f}")

# %% 2. Calibrate: does 90% mean 90%?
# Bins of equal mass hold as many rows each. A calibrated classifier has accuracy = confidence in every bin. Where it
# has not, scikit-learn's wrappers correct it like any other estimator; a GP that knows its uncertainty rarely needs it.
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
cancer = GPCNoiseClassifier("probit", **SETTINGS).fit(X_train, y_train)
p = clip_probabilities(cancer.predict_proba(X_test))
table = reliability(p, y_test, bins=5, equal_mass=True)
print(f"2. breast cancer, probit: {scores(evaluate(p, y_test))}")
for confidence, accuracy, count in zip(table.confidence, table.accuracy, table.count, strict=True):
    print(f"   {count:3d} rows predicted with confidence {confidence:.3f}: {accuracy:.3f} right")
recalibrated = CalibratedClassifierCV(GPCNoiseClassifier("probit", **SETTINGS), method="sigmoid", cv=3)
recalibrated.fit(X_train, y_train)
print(f"   with sigmoid calibration on top: {scores(evaluate(recalibrated.predict_proba(X_test), y_test))}")


# %% 3. Explain a prediction with its uncertainty
# The softmax of one draw of the latent functions f ~ N(μ, ν) says how the classes overlap there (noise): more data will
# not change it. How much the draws differ says what the model does not know: more data there will. In nats, the entropy
# of the predicted probabilities is the mean entropy of the draws plus what is left.
def entropy(probabilities: np.ndarray) -> np.ndarray:
    return -np.sum(probabilities * np.log(np.clip(probabilities, 1e-12, 1.0)), axis=-1)


def uncertainty(classifier: GPCNoiseClassifier, rows: np.ndarray, draws: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """The parts of the entropy at each row that come from noise and from lack of knowledge."""
    mu, nu = classifier.predict_latent(rows)
    f = mu + np.sqrt(nu) * np.random.default_rng(0).standard_normal((draws, *mu.shape))
    each = np.exp(f - f.max(axis=-1, keepdims=True))
    each /= each.sum(axis=-1, keepdims=True)
    noise = entropy(each).mean(axis=0)
    return noise, np.maximum(entropy(each.mean(axis=0)) - noise, 0.0)


X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
wine = GPCNoiseClassifier(**SETTINGS).fit(X_train, y_train)
p = wine.predict_proba(X_test)
sure, unsure = int(p.max(axis=1).argmax()), int(p.max(axis=1).argmin())
elsewhere = X_train.mean(axis=0) + 6 * X_train.std(axis=0)  # no wine is like this
rows = np.stack([X_test[sure], X_test[unsure], elsewhere])
mu, nu = wine.predict_latent(rows)
noise, ignorance = uncertainty(wine, rows)
print("3. wine, softmax: three predictions")
for number, name in enumerate(("the most confident test row", "the least confident one", "far from all data")):
    shown = "  ".join(f"{m:+.2f} ± {s:.2f}" for m, s in zip(mu[number], np.sqrt(nu[number]), strict=True))
    chances = ", ".join(f"{chance:.3f}" for chance in wine.predict_proba(rows[number : number + 1])[0])
    print(f"   {name}: p = {chances}; f = {shown}")
    print(f"      entropy {noise[number]:.3f} nats by noise + {ignorance[number]:.3f} by lack of knowledge")

# %% 4. Compare likelihoods: four kinds of noise on the same folds
# Step, probit and logit add Gaussian noise of variance 0, 1 and 2.897 and a part δ of wrong labels; the softmax adds
# Gumbel noise and has no δ.
folds = StratifiedKFold(2 if QUICK else 5, shuffle=True, random_state=0)
print(f"4. wine, {folds.n_splits}-fold cross-validation")
for likelihood in ("step", "probit", "logit", "softmax"):
    p, deltas = np.empty((len(y), 3)), []
    for train, test in folds.split(X, y):
        classifier = GPCNoiseClassifier(likelihood, **SETTINGS).fit(X[train], y[train])
        p[test] = classifier.predict_proba(X[test])
        deltas.append(classifier.delta_)
    shown = "–" if deltas[0] is None else f"{np.mean(deltas):.4f}"
    print(f"   {likelihood:8s}{scores(evaluate(p, y))}, δ {shown}")
