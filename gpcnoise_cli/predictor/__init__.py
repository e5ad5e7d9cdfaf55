"""Prediction from saved arrays with NumPy and SciPy alone: neither TensorFlow nor GPflow is ever imported here.

from gpcnoise_cli.predictor import load

model = load("model.npz")  # gpcnoise export RUN_DIR --format numpy --out model.npz
model.predict_proba(rows)
"""

from gpcnoise_cli.predictor.file import Served, load

__all__ = ["Served", "load"]
