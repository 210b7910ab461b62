# SPDX-License-Identifier: BSD-3-Clause
"""Studies for nodewise, each in its folder, which nodewise finds by this package's entry point."""
