"""Find the fastest way to run a program on a machine, and prove it."""

__version__ = "0.1.0"
