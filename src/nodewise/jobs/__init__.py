# SPDX-License-Identifier: BSD-3-Clause
"""Batch systems: launch scripts for each, and whole experiments handed to one as a single job."""
