# SPDX-License-Identifier: BSD-3-Clause
"""The difference that counts as none where nobody names another."""

#: A share: 0.01 is 1%.
WITHIN = 0.01
