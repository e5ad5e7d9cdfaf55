"""What can be trained: the registry, the paper's sparse variational Gaussian process, one file per further method."""
