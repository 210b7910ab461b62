# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun (slurm.schedmd.com/srun.html)."""

from nodewise.runner.family import Family

FAMILY = Family(
    "srun",
    "Slurm",
    programs=("srun",),
    says="^slurm",
    # without their number it would take all nodes of its job
    each=("--nodes", "{nodes}", "--ntasks-per-node", "{n}"),
    libraries=(),
    package="slurm-client",
    unbound=("--cpu-bind=none",),
    elsewhere=True,
)
