# SPDX-License-Identifier: BSD-3-Clause
"""Figures: charts of what was measured, one Vega-Lite specification each for the page, for SVG and for PNG."""
