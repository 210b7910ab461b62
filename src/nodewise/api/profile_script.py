# SPDX-License-Identifier: BSD-3-Clause
"""A script that profiles chosen ranks of an MPI program under a batch system."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from nodewise.api.profile import check_rate, given_ranks
from nodewise.api.stored_profile import RECORDING, Kept
from nodewise.base.errors import InputError
from nodewise.base.masking import Masks
from nodewise.jobs.profile_script import INTO, ProfileJob, profile_script
from nodewise.profile.perf import chain_words
from nodewise.profile.target import chains_of
from nodewise.profile.traps import traps
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.runner.find_program import find_program
from nodewise.runner.launch import quoted_line
from nodewise.tuning.ranks import read_ranked


def script_of_profile(
    form: str,
    command: Sequence[str],
    *,
    ranks: str = "",
    rate: int = 99,
    chains: str | None = None,
    walltime: str = "00:30:00",
    folder: Path | None = None,
    most_bytes: int = 0,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, list[str]]:
    """The text of a script, and what would spoil the profile. `form` is `slurm`, `pbs`, `pbs-alps` or `lsf`, `command` one that starts ranks.

    perf is found where the job runs, and samples cycles there, or without counters the kernel's clock. Raises InputError, ProgramError.
    """
    inherited = dict(os.environ if environment is None else environment)
    check_rate(rate)
    chosen = given_ranks(ranks)
    ranked = read_ranked(command)
    if ranked is None:
        raise InputError(
            "a script of a profile starts ranks, and none are named",
            "such as: nodewise profile --script slurm -- srun -n 64 ./app",
        )
    if outside := chosen.outside(ranked.ranks):
        raise InputError(
            f"there are {ranked.ranks} ranks, and none of the number {outside[0]}", f"they are 0 to {ranked.ranks - 1}"
        )
    program = Path(find_program(ranked.program, inherited, None))
    found = chains_of(program, inherited, chains)
    limit = [f"--max-size={most_bytes}B"] if most_bytes else []
    how = ("-q", "-F", str(rate), *chain_words(found.kind), *limit)
    record = ("perf", "record", *how, "--switch-events", "-o", INTO, "--")
    notes = traps(program, folder or Path.cwd(), {**inherited, "PMI_NO_FORK": "1"}, command)
    kept = Kept(
        command=tuple(Masks().masked(list(command))),
        machine="that of the job",
        taken_at="",
        seconds=0.0,
        exit_code=0,
        event="cycles",
        rate=rate,
        chains=found.kind,
        chains_why=found.why,
        chains_lack=found.lacks,
        off_cpu=False,
        perf="that of the job",
        notes=tuple(notes),
    )
    job = ProfileJob(
        ranked,
        chosen,
        record,
        RECORDING,
        json.dumps(asdict(kept)),
        str(Path.cwd()),
        walltime,
        str(folder.absolute()) if folder else "",
        {k: v for k, v in sorted(inherited.items()) if k.startswith(KEPT_VARIABLES)},
        [f"Profile of: {quoted_line(Masks().masked(list(command)))}"],
    )
    return profile_script(form, job), notes
