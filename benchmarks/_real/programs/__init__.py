# SPDX-License-Identifier: BSD-3-Clause
"""One file for each kind of programs; each function marked with `program` is one."""
