# SPDX-License-Identifier: BSD-3-Clause
"""What connects processes and nodes: links, ports, libfabric's providers, and what each MPI takes of them."""
