# SPDX-License-Identifier: BSD-3-Clause
"""A plain process, which sees all of the system: what the others are compared with."""

from nodewise.isolation.kind import Kind

KIND = Kind("process", "plain process", (), "", None)
