# SPDX-License-Identifier: BSD-3-Clause
"""Importers, a file each."""
