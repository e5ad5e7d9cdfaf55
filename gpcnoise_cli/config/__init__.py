"""The typed configuration: its schema, how Hydra composes it, and how command-line options become overrides."""
