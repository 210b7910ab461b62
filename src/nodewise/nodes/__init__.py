# SPDX-License-Identifier: BSD-3-Clause
"""Nodes: a snapshot of one, and the rules by which those of a cluster are held against each other."""
