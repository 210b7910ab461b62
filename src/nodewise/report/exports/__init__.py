# SPDX-License-Identifier: BSD-3-Clause
"""Exports: files for other tools."""
