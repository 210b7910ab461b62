# SPDX-License-Identifier: BSD-3-Clause
"""Experiments over time: kept in SQLite or PostgreSQL, filled from their folders and from other tools' files."""
