# SPDX-License-Identifier: BSD-3-Clause
"""Asking many nodes for their snapshots, by what the site starts commands on nodes with."""
