# SPDX-License-Identifier: BSD-3-Clause
"""Who sits where: places of threads and ranks, read from and written in the field's dialects."""
