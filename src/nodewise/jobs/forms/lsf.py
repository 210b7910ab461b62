# SPDX-License-Identifier: BSD-3-Clause
"""A script for LSF's bsub, which reads it from its input: bsub < launch.lsf (bsub(1))."""

from __future__ import annotations

from nodewise.jobs.script import Form, Kept, as_inherited, by_mpiexec, commented, needs_of
from nodewise.runner.launch import launch_of


def lsf_script(kept: Kept) -> str:
    """The text: a slot for each processor, all on one host, which is the job's alone where processors are named by number.

    Over hosts a slot is a rank, as mpiexec starts one in each, and has its processors besides.
    """
    needs = needs_of(kept)
    setting, about = by_mpiexec(kept.setting)
    over = needs.nodes > 1
    lines = [
        "#!/bin/sh",
        f"#BSUB -J {needs.name}",
        f"#BSUB -o {needs.name}.%J.out",
        f"#BSUB -n {needs.ranks if over else needs.processors}",
        f'#BSUB -R "span[ptile={needs.each}] affinity[core({needs.threads})]"' if over else '#BSUB -R "span[hosts=1]"',
        *(["#BSUB -x"] if needs.bound else []),
    ]
    body = launch_of(setting, as_inherited(kept)).body(kept.asked_in)
    return "\n".join([*lines, *commented([*kept.about, *about]), "set -eu", body])


FORM = Form("lsf", "LSF", "launch.lsf", lsf_script)
