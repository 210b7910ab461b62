# SPDX-License-Identifier: BSD-3-Clause
"""Containers and virtual machines as launchers: kinds of isolation, whether they work here, and what they cost."""
