"""The scripts that `bench command` times beside this program: what a user of each library would write.

Each is run as a file of its own, by an interpreter that need not have this package: SPLIT.npz in, PREDICTIONS.npz and
the saved model out. The sparse Gaussian processes have the same sizes (300 inducing points, minibatches of 1024, Adam
at 0.01, one RBF kernel with a lengthscale per feature that starts at √d) and run for the number of steps they are told.
"""
