# SPDX-License-Identifier: BSD-3-Clause
"""The launchers of ranks that come with nodewise, each a file."""
