# SPDX-License-Identifier: BSD-3-Clause
"""Scripts that profile chosen ranks, run by real shells with stand-ins for srun, aprun, mpiexec and perf, and hostile names."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from nodewise.api.profile_script import script_of_profile
from nodewise.base.errors import InputError
from nodewise.profile.ranks import Ranks
from tests.crossed import crossed
from tests.jobs.test_batch_forms import APRUN, HOSTILE, directives

#: Starts each rank by what a file of parts says, as srun does; words are split at blanks alone there.
SRUN = r"""#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = --multi-prog ] && file=$2; shift; done
while read -r ranks words; do
    r=${ranks%-*}
    while [ "$r" -le "${ranks#*-}" ]; do SLURM_PROCID=$r $words || exit; r=$((r + 1)); done
done < "$file"
"""
#: The stand-in of a launcher as the colon has it: numbers go on from part to part.
COLON = """#!/usr/bin/env python3
import os, subprocess, sys
parts, number, at = [[]], 0, sys.argv[1:]
for word in at:
    parts.append([]) if word == ":" else parts[-1].append(word)
for part in parts:
    count = int(part[part.index("-n") + 1])
    if "-N" in part and int(part[part.index("-N") + 1]) > count:
        sys.exit("aprun: -N value cannot exceed -n")
    words = part[part.index("/bin/sh"):]
    for _ in range(count):
        subprocess.run(words, env={**os.environ, VARIABLE: str(number)}, check=True)
        number += 1
"""
PERF = """#!/bin/sh
while [ "$1" != -- ]; do [ "$1" = -o ] && into=$2; shift; done
shift
printf recorded > "$into"
exec "$@"
"""
PROGRAM = """#!/bin/sh
printf '%s\\0' "$@" "$PWD" "$OMP_NUM_THREADS" > "$RECORDS/${PMI_RANK:-${SLURM_PROCID:-$ALPS_APP_PE}}"
"""
LAUNCHED = {"slurm": "srun", "pbs-alps": "aprun", "pbs": "mpiexec", "lsf": "mpiexec"}


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    texts = {"srun": SRUN, "perf": PERF}
    texts |= {n: COLON.replace("VARIABLE", repr(v)) for n, v in (("aprun", "ALPS_APP_PE"), ("mpiexec", "PMI_RANK"))}
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.some(5)
@pytest.mark.parametrize(("form", "kind"), [*((form, "all") for form in LAUNCHED), *crossed([*LAUNCHED], [*HOSTILE])])
def test_the_chosen_ranks_are_recorded_and_all_get_what_was_meant(
    tmp_path: Path, stand_ins: Path, form: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = os.fsdecode(HOSTILE.get(kind, b" ".join(HOSTILE.values())))
    work, records = tmp_path / f"dir {text}", tmp_path / "records"
    for made in (work, records):
        made.mkdir()
    program = work / f"app {text}"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.chdir(work)
    out = tmp_path / f"out {text}"
    env = {"PATH": f"{stand_ins}:{os.environ['PATH']}", "OMP_NUM_THREADS": "3", "RECORDS": str(records)}
    words = [LAUNCHED[form], "-n", "7", f"./{program.name}", text, "", "a:b", ":"]
    made_text, _ = script_of_profile(form, words, ranks="every:3", folder=out, environment=env)
    script = tmp_path / "job"
    script.write_bytes(os.fsencode(made_text))
    for shell in ("dash", "bash"):
        done = subprocess.run([shell, str(script)], cwd="/", env=env, capture_output=True, check=False)
        assert done.returncode == 0, (done.stderr, made_text)
        meant = b"\0".join(map(os.fsencode, [text, "", "a:b", ":", str(work), "3", ""]))
        assert {p.name: p.read_bytes() for p in records.iterdir()} == dict.fromkeys(map(str, range(7)), meant)
        node = out / os.uname().nodename
        assert sorted(p.name for p in node.iterdir()) == [f"perf.data.{r}" for r in (0, 3, 6)]
        assert json.loads((out / "profile.json").read_bytes())["rate"] == 99
        for path in (*records.iterdir(), *node.iterdir()):
            path.unlink()


@pytest.mark.parametrize(
    ("form", "words", "ranks", "mark", "head", "line"),
    [
        (
            "slurm",
            ["srun", "-n", "1024", "-c", "2", "-N", "64"],
            "1023",
            "#SBATCH ",
            ["--ntasks=1024", "--cpus-per-task=2", "--nodes=64", "--time=01:10:30"],
            "srun -n 1024 -c 2 -N 64 --multi-prog ranks.conf",
        ),
        (
            "pbs-alps",
            ["aprun", "-n", "32", "-N", "16", "-d", "2"],
            "16-31",
            "#PBS ",
            ["-l walltime=01:10:30", "-l mppwidth=32,mppnppn=16,mppdepth=2"],
            "aprun -n 16 -N 16 -d 2 /bin/sh ./plain : -n 16 -N 16 -d 2 /bin/sh ./recorded",
        ),
        (
            "pbs-alps",
            ["aprun", "-n", "32", "-N", "2", "-d", "8"],
            "0",
            "#PBS ",
            # the first rank has a node of its own, and the others sixteen
            ["-l mppwidth=34,mppnppn=2,mppdepth=8"],
            "aprun -n 1 -N 1 -d 8 /bin/sh ./recorded : -n 31 -N 2 -d 8 /bin/sh ./plain",
        ),
        (
            "pbs",
            ["mpiexec", "-n", "8", "-ppn", "4"],
            "7",
            "#PBS ",
            ["-l select=2:ncpus=4:mpiprocs=4:ompthreads=1"],
            "mpiexec -ppn 4 -n 7 /bin/sh ./plain : -n 1 /bin/sh ./recorded",
        ),
        (
            "lsf",
            ["mpiexec", "-n", "8"],
            "0-3",
            "#BSUB ",
            ["-n 8", "-W 1:11"],
            "mpiexec -n 4 /bin/sh ./recorded : -n 4 /bin/sh ./plain",
        ),
    ],
)
def test_heads_and_lines_are_those_of_the_systems(
    form: str, words: list[str], ranks: str, mark: str, head: list[str], line: str
) -> None:
    text, _ = script_of_profile(form, [*words, "true"], ranks=ranks, walltime="01:10:30", environment=dict(os.environ))
    assert line in text.splitlines()
    assert set(head) <= set(directives(text.partition("set -eu")[0], mark))
    submitted = {"slurm": "SLURM_SUBMIT_DIR", "lsf": "LS_SUBCWD"}.get(form, "PBS_O_WORKDIR")
    assert f'folder="${{{submitted}:-$PWD}}/nodewise-profile.' in text
    assert ("PMI_NO_FORK=1" in text) == (form == "pbs-alps")


@pytest.mark.parametrize(
    ("form", "words", "options", "said"),
    [
        ("sh", ["srun", "-n", "2", "true"], {}, "starts no chosen ranks"),
        ("slurm", ["true"], {}, "no"),
        ("slurm", ["srun", "-n", "2", "true"], {"ranks": "2"}, "none of the number 2"),
        ("slurm", ["srun", "-n", "2", "true"], {"walltime": "soon"}, "not a time"),
        ("slurm", ["srun", "-n", "2", "true"], {"ranks": "every:0"}, "no list of ranks"),
        ("slurm", ["srun", "-n", "2", "true"], {"rate": 0}, "not a rate"),
    ],
)
def test_what_cannot_be_is_refused(form: str, words: list[str], options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        script_of_profile(form, words, environment=dict(os.environ), **options)  # type: ignore[arg-type]


def test_stretches_of_ranks_are_whole_and_in_order() -> None:
    assert Ranks((1023,)).parts(1024) == [(0, 1022, False), (1023, 1023, True)]
    assert Ranks(step=2).parts(3) == [(0, 0, True), (1, 1, False), (2, 2, True)]
    assert Ranks().parts(5) == [(0, 4, True)]


def test_the_stand_in_of_aprun_is_as_strict_as_that_of_other_scripts() -> None:
    assert "-N value cannot exceed -n" in APRUN and "-N value cannot exceed -n" in COLON
