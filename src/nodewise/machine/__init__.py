# SPDX-License-Identifier: BSD-3-Clause
"""What the hardware and the system are: topology, limits, state, and what goes on beside."""
