"""Measuring speed: a training step against other libraries, its growth with the problem, and time to a quality."""
