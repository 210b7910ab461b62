# SPDX-License-Identifier: BSD-3-Clause
"""A script for the qsub of PBS Professional and OpenPBS, whose ranks mpiexec starts (qsub(1B), pbs_resources(7B))."""

from __future__ import annotations

from nodewise.jobs.script import Form, Kept, as_inherited, by_mpiexec, commented, needs_of
from nodewise.runner.launch import launch_of

#: Before version 2020 a job's name had no more letters.
LONGEST_NAME = 15


def job_name(name: str) -> str:
    """A name that qsub takes: it begins with a letter, and is short."""
    return (name if name[0].isalpha() else f"j{name}")[:LONGEST_NAME]


def pbs_script(kept: Kept) -> str:
    """The text: a chunk for each node, the whole of it where processors are named by number."""
    needs = needs_of(kept)
    setting, about = by_mpiexec(kept.setting)
    lines = [
        "#!/bin/sh",
        f"#PBS -N {job_name(needs.name)}",
        "#PBS -j oe",
        f"#PBS -l select={needs.nodes}:ncpus={needs.processors}:mpiprocs={needs.each}:ompthreads={needs.threads}",
        f"#PBS -l place={'scatter' if needs.nodes > 1 else 'pack'}{':excl' if needs.bound else ''}",
    ]
    body = launch_of(setting, as_inherited(kept)).body(kept.asked_in)
    return "\n".join([*lines, *commented([*kept.about, *about]), "set -eu", body])


FORM = Form("pbs", "PBS, ranks by mpiexec", "launch.pbs", pbs_script)
