# SPDX-License-Identifier: BSD-3-Clause
"""Compilers: finding and running them, and reading what they record about loops."""
