# SPDX-License-Identifier: BSD-3-Clause
"""Text: lines for a terminal."""
