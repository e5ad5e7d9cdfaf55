"""Scalable Gaussian process classification with a choice of likelihood.

`gpcnoise_cli.GPCNoiseClassifier` is the scikit-learn estimator; it is looked up lazily, so that importing this package
(for help and completion) loads neither scikit-learn nor NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpcnoise_cli.estimator.classifier import GPCNoiseClassifier

__version__ = "0.1.0"
__all__ = ["GPCNoiseClassifier", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "GPCNoiseClassifier":
        from gpcnoise_cli.estimator.classifier import GPCNoiseClassifier

        return GPCNoiseClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "GPCNoiseClassifier"])
