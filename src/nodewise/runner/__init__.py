# SPDX-License-Identifier: BSD-3-Clause
"""One run: a Setting is started, bound, measured and waited for, and becomes a Sample."""
