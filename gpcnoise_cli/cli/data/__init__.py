"""`gpcnoise data`: the registered sets, and what your own table looks like to the program."""

from gpcnoise_cli.cli.data import sets, your_table  # noqa: F401 (they add their verbs to the app)
from gpcnoise_cli.cli.data.shared import app

__all__ = ["app"]
