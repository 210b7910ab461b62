# SPDX-License-Identifier: BSD-3-Clause
"""Programs of known truth, load beside them, and recorded series, for `benchmarks.busy`."""
