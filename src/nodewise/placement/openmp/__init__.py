# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP in placements: the grammars of its variables, and where each runtime puts threads for them."""
