# SPDX-License-Identifier: BSD-3-Clause
"""What makes a machine noisy: findings from how it is set, what happens on it, and a loop of equal work."""
