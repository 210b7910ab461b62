# SPDX-License-Identifier: BSD-3-Clause
"""The formats that come with nodewise, a file each: `report.exports.registry` finds them."""
