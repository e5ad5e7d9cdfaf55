"""Scalable Gaussian process classification with a choice of likelihood."""

__version__ = "0.1.0"
