# SPDX-License-Identifier: BSD-3-Clause
"""The host of studies: the contract that a folder keeps, finding, building and starting it; and those that nodewise needs itself."""
