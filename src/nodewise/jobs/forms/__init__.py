# SPDX-License-Identifier: BSD-3-Clause
"""The forms of launch scripts, a file each."""
