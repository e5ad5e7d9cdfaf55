"""GPCep: FITC expectation propagation, the first of the columns that the paper compares with.

`factors` has the formulas of a single factor, `model` what is learned, `fit` the loop, `method` the seam.
"""

from gpcnoise_cli.methods.ep.method import METHOD

__all__ = ["METHOD"]
