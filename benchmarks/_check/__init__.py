# SPDX-License-Identifier: BSD-3-Clause
"""Made-up fleets of nodes, sound ones and ones with planted faults."""
