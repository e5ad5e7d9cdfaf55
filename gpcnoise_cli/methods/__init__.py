"""What can be trained: a registry of methods, and one file for each."""
