# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of experiments that come with nodewise, a file each: `records.kind_registry` finds them."""
