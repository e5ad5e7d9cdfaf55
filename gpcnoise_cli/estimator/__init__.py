"""The models and the training of the command line as a scikit-learn estimator."""
