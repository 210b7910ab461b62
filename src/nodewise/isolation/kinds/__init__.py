# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of isolation, a file each; an installed package brings more by the entry point group `nodewise.isolation`."""
