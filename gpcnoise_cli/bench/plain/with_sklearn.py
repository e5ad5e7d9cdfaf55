"""A classifier of scikit-learn with its default settings: SPLIT.npz PREDICTIONS.npz NAME."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np


def classifier(name: str) -> Any:
    """Only the module that is needed is imported: what another one costs is not this one's."""
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)  # its default of 100 does not always arrive
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def main(split: Path, predictions: Path, name: str) -> None:
    with np.load(split) as arrays:
        X, y, X_test, classes = arrays["X_train"], arrays["y_train"], arrays["X_test"], int(arrays["classes"])
    model = classifier(name).fit(X, y)
    probabilities = np.zeros((len(X_test), classes))
    probabilities[:, model.classes_] = model.predict_proba(X_test)
    np.savez(predictions, probabilities=probabilities)
    joblib.dump(model, predictions.with_suffix(".model"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
