# SPDX-License-Identifier: BSD-3-Clause
"""A script for Slurm's sbatch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nodewise.jobs.script import (
    Form,
    Kept,
    Needs,
    as_inherited,
    commented,
    needs_of,
    options_left_out,
    own_options,
)
from nodewise.machine.model import Machine
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.render import render
from nodewise.placement.seating import even
from nodewise.runner.launch import launch_of
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import Ranked, read_ranked, read_wrapper


def slurm_script(kept: Kept) -> str:
    """The text. Ranks are started by srun, in their places; a single process by the script itself."""
    setting = kept.setting
    ranked = read_ranked(setting.command)
    needs = needs_of(kept)
    directives = {
        "job-name": needs.name,
        "nodes": str(needs.nodes),
        "ntasks": str(needs.ranks),
        "ntasks-per-node": str(needs.each),
        "cpus-per-task": str(needs.threads),
        "threads-per-core": str(needs.per_core),
    }
    lines = ["#!/bin/sh", *(f"#SBATCH --{name}={value}" for name, value in directives.items())]
    lines += ["#SBATCH --exclusive"] if needs.bound else []
    about = list(kept.about)
    if ranked is not None:
        about += options_left_out(ranked, "srun")
        setting = _by_srun(setting, ranked, kept.machine, needs)
    body = launch_of(setting, as_inherited(kept)).body(kept.asked_in)
    return "\n".join([*lines, *commented(about), "set -eu", body])


def _by_srun(setting: Setting, ranked: Ranked, machine: Machine, needs: Needs) -> Setting:
    """The setting with srun as its launcher, which puts each rank in its places."""
    _, program = read_wrapper(ranked.program)
    # how many ranks there are is in the script's head
    options = own_options(ranked) if Path(ranked.head[0]).name == "srun" else []
    env = {k: v for k, v in setting.env.items() if not k.startswith(("OMPI_MCA_hwloc", "PRTE_MCA_hwloc", "SLURM_CPU"))}
    if setting.places is None:
        # from Slurm 22.05 on srun does not take this from the script's head
        command = ("srun", f"--cpus-per-task={needs.threads}", *options, *program)
        return replace(setting, command=command, env=env)
    # over nodes the places are those of each
    threads = len(setting.places) // needs.each
    by_rank = [setting.places[i * threads : (i + 1) * threads] for i in range(needs.each)]
    placement: Placement = Job(threads, needs.ranks, needs.nodes, needs.each).placement(
        "as found", by_rank, even(needs.ranks, needs.nodes)
    )
    rendering = render("slurm", machine, placement)
    openmp = "OMP_NUM_THREADS" in setting.env
    # a file of Slurm's own dialect would be one more to keep: its text goes along
    files = [word for name, text in rendering.files.items() if openmp for word in ("sh", "-c", text, "sh")]
    words = [w for w in rendering.words if w.removeprefix("./") not in rendering.files]
    env |= rendering.env if openmp else {}
    # where srun does, masks beyond it are refused
    unset = (*setting.unset, "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK")
    return replace(setting, command=(*words, *options, *files, *program), env=env, unset=unset)


FORM = Form("slurm", "Slurm", "launch.sbatch", slurm_script)
