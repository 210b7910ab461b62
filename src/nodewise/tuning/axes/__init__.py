# SPDX-License-Identifier: BSD-3-Clause
"""The axes that nodewise knows, a file each."""
