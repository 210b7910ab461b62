# SPDX-License-Identifier: BSD-3-Clause
"""Pages: one HTML file for each experiment, with everything in it; templates next to what fills them."""
