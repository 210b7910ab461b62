# SPDX-License-Identifier: BSD-3-Clause
"""A readable catalogue of knobs: which runtimes and libraries there are, and what of them can be set (the .toml files here)."""
