# SPDX-License-Identifier: BSD-3-Clause
"""Cray's aprun, of ALPS."""

from nodewise.runner.family import Family

FAMILY = Family(
    "aprun",
    "ALPS",
    programs=("aprun",),
    says="ALPS|aprun",
    each=("-N", "{n}"),
    libraries=(),
    package="",
    unbound=("-cc", "none"),
    elsewhere=True,
)
