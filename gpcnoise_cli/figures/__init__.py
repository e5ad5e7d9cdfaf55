"""The paper's experiments behind its figures and Table I: each module computes one of them, from scratch, as numbers.

Drawing is `gpcnoise_cli.figures.drawings`, one module of the same name each; `catalogue` lists the pairs.
"""
