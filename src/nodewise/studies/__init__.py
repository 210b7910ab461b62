# SPDX-License-Identifier: BSD-3-Clause
"""Programs that ship with nodewise, each in its folder, and the contract that they keep."""
