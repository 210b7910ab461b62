# SPDX-License-Identifier: BSD-3-Clause
"""What people look at: pages, figures, drawings, text, exports."""
