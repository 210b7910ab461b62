# SPDX-License-Identifier: BSD-3-Clause
"""Reading the parts of a snapshot below a root: one module for each kind of source."""
