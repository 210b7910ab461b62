# SPDX-License-Identifier: BSD-3-Clause
"""The dialects of placement, each one file that ends in its `DIALECT`; the registry finds them."""
