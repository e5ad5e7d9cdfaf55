"""`gpcnoise bench`: how long a step, a whole command or a grid takes, and how good the models are beside others."""

from gpcnoise_cli.cli.bench import steps, whole  # noqa: F401 (they add their verbs to the app)
from gpcnoise_cli.cli.bench.shared import app

__all__ = ["app"]
