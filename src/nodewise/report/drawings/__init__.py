# SPDX-License-Identifier: BSD-3-Clause
"""Drawings: machines, and what sits where on them, as self-contained SVG."""
