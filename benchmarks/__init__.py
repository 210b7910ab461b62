"""Benchmarks against peers: each file here is one, with a `main()` that prints it."""
