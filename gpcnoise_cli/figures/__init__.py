"""The paper's figures and Table I: each module computes one of them from scratch as numbers and draws it.

Importing them starts neither TensorFlow, which is needed when something is computed, nor Matplotlib, which is needed
when something is drawn; only Matplotlib's file backends are used.
"""
