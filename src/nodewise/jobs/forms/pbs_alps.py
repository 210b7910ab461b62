# SPDX-License-Identifier: BSD-3-Clause
"""A script for the qsub of a Cray with ALPS, whose compute nodes only aprun reaches (aprun(1), CLE 5 and 6)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nodewise.jobs.forms.pbs import job_name
from nodewise.jobs.script import (
    Form,
    Kept,
    Needs,
    as_inherited,
    commented,
    inlined,
    needs_of,
    options_left_out,
    own_options,
)
from nodewise.runner.launch import launch_of
from nodewise.tuning.ranks import Ranked, read_ranked

#: aprun fills one node after the other; a script that places ranks knows PALS's variable of a rank's number on its node.
_NUMBER = "export PALS_LOCAL_RANKID=${{PALS_LOCAL_RANKID:-$((ALPS_APP_PE % {each}))}}\n"


def alps_script(kept: Kept) -> str:
    """The text. The script itself runs on a service node, so a single process, too, is started by aprun."""
    setting = kept.setting
    ranked = read_ranked(setting.command)
    needs = needs_of(kept)
    lines = [
        "#!/bin/sh",
        f"#PBS -N {job_name(needs.name)}",
        "#PBS -j oe",
        f"#PBS -l mppwidth={needs.ranks},mppnppn={needs.each},mppdepth={needs.threads}",
    ]
    about = list(kept.about)
    if ranked is None:
        # what holds it to processors and memory is of the compute node, so it stands behind aprun
        plain = launch_of(setting, as_inherited(kept))
        launch = replace(plain, words=(*_aprun(needs, "none" if needs.bound else "depth"), *plain.words))
    else:
        about += options_left_out(ranked, "aprun")
        words = _ranks(ranked, needs)
        launch = launch_of(replace(setting, command=words), as_inherited(kept))
    return "\n".join([*lines, *commented(about), "set -eu", launch.body(kept.asked_in)])


def _aprun(needs: Needs, binding: str) -> tuple[str, ...]:
    counts = ("-n", str(needs.ranks), "-N", str(needs.each))
    return ("aprun", *counts, "-d", str(needs.threads), "-j", str(needs.per_core), "-cc", binding)


def _ranks(ranked: Ranked, needs: Needs) -> tuple[str, ...]:
    """aprun's words; ranks with places bind themselves, as they did when they were measured."""
    wrapper, program = inlined(ranked)
    if wrapper:
        shell, option, text, name = wrapper
        return (*_aprun(needs, "none"), shell, option, _NUMBER.format(each=needs.each) + text, name, *program)
    own = own_options(ranked) if Path(ranked.head[0]).name == "aprun" else None
    words = ("aprun", "-n", str(needs.ranks), *own) if own is not None else _aprun(needs, "depth")
    return (*words, *program)


FORM = Form("pbs-alps", "PBS on a Cray, ranks by aprun", "launch-alps.pbs", alps_script)
