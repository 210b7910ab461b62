# SPDX-License-Identifier: BSD-3-Clause
"""Scripts for PBS, ALPS and LSF, run by real shells with stand-ins for what starts ranks there, and hostile names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nodewise.jobs.script import Kept, all_forms, write_script
from nodewise.placement.job import Job
from nodewise.runner.launch import Start
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import rank_wrapper
from tests.surfaces import machine

HERE = machine(4, 2)
#: Keeps what it was given, byte by byte, in a file of its rank.
PROGRAM = """#!/bin/sh
rank=${ALPS_APP_PE:-${PMI_RANK:-0}}
{ printf '%s\\0' "$@" "$PWD" "$GIVEN" "$OMP_NUM_THREADS"; cat; } > "$RECORDS/$rank"
printf %s "$OMP_PLACES" > "$RECORDS/places.$rank"
"""
#: mpiexec, as far as `-n N` goes.
MPIEXEC = """#!/bin/sh
[ "$1" = -n ] || exit 64
n=$2
shift 2
i=0
while [ $i -lt $n ]; do PMI_RANK=$i MPI_LOCALRANKID=$i "$@" || exit; i=$((i + 1)); done
"""
#: aprun, which rejects what its manual of CLE 6 does not have, and what does not go together.
APRUN = """#!/bin/sh
n=1 depth=1 per=
while [ $# -gt 0 ]; do
    case $1 in
    -n | --pes) n=$2; shift 2 ;;
    -N | --pes-per-node) per=$2; shift 2 ;;
    -d | --cpus-per-pe) depth=$2; shift 2 ;;
    -j | --cpus-per-cu | -S | --pes-per-numa-node | -m | --memory-per-pe | -L | --node-list | -a | -D | -e | -p | -P | -r | -t | -sl | -sn)
        shift 2 ;;
    -cc | --cpu-binding)
        case $2 in cpu | depth | numa_node | none | [0-9]*) shift 2 ;; *) echo "aprun: invalid -cc $2" >&2; exit 1 ;; esac ;;
    -b | -B | -q | -R | -F | -ss | -T | -u | -v) shift ;;
    --) shift; break ;;
    -*) echo "aprun: unrecognized option '$1'" >&2; exit 1 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || { echo "aprun: no executable" >&2; exit 1; }
[ -z "$per" ] || [ "$per" -le "$n" ] || { echo "aprun: -N value cannot exceed -n" >&2; exit 1; }
i=0
while [ $i -lt $n ]; do ALPS_APP_PE=$i ALPS_APP_DEPTH=$depth "$@" || exit; i=$((i + 1)); done
"""
HOSTILE = {
    "space": b"a b",
    "quote": b"it's",
    "dollar": b'"$HOME" `true` $(exit 3)',
    "newline": b"one\ntwo\n",
    "no UTF-8": b"\xff\xfe \xc3\xa9",
    "signs": b"-x=1;*?[!~#&|<>\\",
}
FORMS = ("pbs", "pbs-alps", "lsf")
#: What begins a line that each system's submission reads, and what its own ranks are started by.
MARKS = {"pbs": ("#PBS ", "mpiexec"), "pbs-alps": ("#PBS ", "aprun"), "lsf": ("#BSUB ", "mpiexec")}


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("aprun", APRUN), ("mpiexec", MPIEXEC)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def ran(script: Path, stand_ins: Path, shell: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": f"{stand_ins}:{os.defpath}", **more}
    return subprocess.run([shell, str(script)], cwd="/", env=environment, capture_output=True, check=False)


@pytest.mark.some(7)
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("form", FORMS)
def test_scripts_give_each_rank_what_was_meant(tmp_path: Path, stand_ins: Path, form: str, kind: str) -> None:
    text = os.fsdecode(HOSTILE[kind])
    folder, records = tmp_path / f"dir {text}", tmp_path / f"records {text}"
    for made in (folder, records):
        made.mkdir()
    program = folder / f"app {text}"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (folder / f"in {text}").write_bytes(b"input")
    start = Start(stdin=str(folder / f"in {text}"), env={"GIVEN": text, "RECORDS": str(records)})
    words = (f"./{program.name}", text, "", "-n")
    placed = Job(1, 2).placement("compact", [[(0,)], [(1,)]])
    wrapper = tuple(rank_wrapper(HERE, placed, tmp_path / f"launch {text}"))
    meant = b"\0".join(map(os.fsencode, [*words[1:], str(folder), text, "1", ""]))
    for command, ranks in (
        (words, 1),
        (("mpiexec", "-n", "2", *words), 2),
        (("srun", "-n", "2", *words), 2),
        (("mpiexec", "-n", "2", *wrapper, *words), 2),
    ):
        places = ((0,), (1,)) if wrapper[0] in command else None
        setting = Setting(command, env={"OMP_NUM_THREADS": "1"}, places=places)
        script = tmp_path / f"job {text}"
        write_script(
            form, Kept(setting, HERE, str(folder), start, about=[f"Start of: {text}\n{MARKS[form][0]}-q x"]), script
        )
        for shell in ("dash", "bash"):
            done = ran(script, stand_ins, shell)
            assert (done.returncode, done.stderr) == (0, b""), script.read_bytes()
            found = {path.name: path.read_bytes() for path in records.iterdir()}
            assert sorted(n for n in found if n.isdecimal()) == [str(r) for r in range(ranks)]
            # who starts ranks here gives its input to the first
            assert found["0"] == meant + b"input"
            assert all(found[str(r)].startswith(meant) for r in range(ranks))
            if places is not None:
                assert [found[f"places.{r}"] for r in range(2)] == [b"{0}", b"{1}"]
            for path in records.iterdir():
                path.unlink()


def directives(text: str, mark: str) -> list[str]:
    """What a submission reads: lines with its mark before the first command."""
    head = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        head.append(line)
    assert not any(line.startswith(mark) for line in text.splitlines()[len(head) :])
    return [line.removeprefix(mark) for line in head if line.startswith(mark)]


@pytest.mark.parametrize(
    ("form", "plain", "bound"),
    [
        (
            "pbs",
            ["-N te-ll-me", "-j oe", "-l select=1:ncpus=4:mpiprocs=2:ompthreads=2", "-l place=pack"],
            ["-N te-ll-me", "-j oe", "-l select=1:ncpus=2:mpiprocs=2:ompthreads=1", "-l place=pack:excl"],
        ),
        (
            "pbs-alps",
            ["-N te-ll-me", "-j oe", "-l mppwidth=2,mppnppn=2,mppdepth=2"],
            ["-N te-ll-me", "-j oe", "-l mppwidth=2,mppnppn=2,mppdepth=1"],
        ),
        (
            "lsf",
            ["-J te-ll-me", "-o te-ll-me.%J.out", "-n 4", '-R "span[hosts=1]"'],
            ["-J te-ll-me", "-o te-ll-me.%J.out", "-n 2", '-R "span[hosts=1]"', "-x"],
        ),
    ],
)
def test_a_batch_system_is_asked_for_what_the_start_takes(form: str, plain: list[str], bound: list[str]) -> None:
    make = all_forms()[form].make
    setting = Setting(("mpirun", "-n", "2", "./te'll me"), {"threads": 2})
    assert directives(make(Kept(setting, HERE, "/")), MARKS[form][0]) == plain
    placed = Setting(("mpirun", "-n", "2", "./te'll me"), {"threads": 1}, places=((0,), (2,)))
    assert directives(make(Kept(placed, HERE, "/")), MARKS[form][0]) == bound


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        (
            "slurm",
            [
                "--nodes=2",
                "--ntasks=4",
                "--ntasks-per-node=2",
                "--cpus-per-task=1",
                "--threads-per-core=1",
                "--exclusive",
            ],
        ),
        ("pbs", ["-j oe", "-l select=2:ncpus=2:mpiprocs=2:ompthreads=1", "-l place=scatter:excl"]),
        ("pbs-alps", ["-j oe", "-l mppwidth=4,mppnppn=2,mppdepth=1"]),
        ("lsf", ["-o app.%J.out", "-n 4", '-R "span[ptile=2] affinity[core(1)]"', "-x"]),
    ],
)
def test_ranks_over_nodes_get_all_of_them(form: str, asked: list[str]) -> None:
    setting = Setting(
        ("srun", "-n", "4", "-N", "2", "./app"), {"threads": 1}, places=((0,), (2,)), ranks=4, ranks_per_node=2
    )
    text = all_forms()[form].make(Kept(setting, HERE, "/"))
    assert directives(text, {**MARKS, "slurm": ("#SBATCH ", "")}[form][0])[1:] == asked
    if form == "slurm":
        assert "--nodes=2 --ntasks=4 --ntasks-per-node=2 --whole --cpu-bind=map_cpu:0,2" in text.splitlines()[-1]
    if form == "pbs-alps":
        assert text.splitlines()[-1].startswith("exec aprun -n 4 -N 2 -d 1 ")


def test_a_rank_over_nodes_finds_its_number_on_its_own(tmp_path: Path, stand_ins: Path) -> None:
    wrapper = tuple(rank_wrapper(HERE, Job(1, 2).placement("compact", [[(0,)], [(1,)]]), tmp_path / "launch"))
    program = ("sh", "-c", 'printf %s "$OMP_PLACES" > "$RECORDS/$ALPS_APP_PE"')
    command = ("aprun", "-n", "4", "-N", "2", *wrapper, *program)
    setting = Setting(command, {"threads": 1}, places=((0,), (1,)), ranks=4, ranks_per_node=2)
    script = tmp_path / "job"
    write_script("pbs-alps", Kept(setting, HERE, str(tmp_path), Start(env={"RECORDS": str(tmp_path)})), script)
    assert ran(script, stand_ins, "dash").returncode == 0
    assert [(tmp_path / str(rank)).read_text() for rank in range(4)] == ["{0}", "{1}", "{0}", "{1}"]


def test_what_holds_a_single_process_is_of_the_compute_node(tmp_path: Path) -> None:
    text = all_forms()["pbs-alps"].make(Kept(Setting(("./app",), mask=(0, 2)), HERE, "/"))
    assert text.splitlines()[-1] == "exec aprun -n 1 -N 1 -d 2 -j 1 -cc none taskset -c 0,2 ./app"
    # elsewhere the script itself is there
    text = all_forms()["pbs"].make(Kept(Setting(("./app",), mask=(0, 2)), HERE, "/"))
    assert text.splitlines()[-1] == "exec taskset -c 0,2 ./app"


def test_options_of_aprun_are_kept_and_those_of_others_are_named() -> None:
    make = all_forms()["pbs-alps"].make
    own = make(Kept(Setting(("aprun", "-n", "2", "-N", "2", "-cc", "numa_node", "./app")), HERE, "/"))
    assert own.splitlines()[-1] == "exec aprun -n 2 -N 2 -cc numa_node ./app"
    other = make(Kept(Setting(("mpirun", "--bind-to", "core", "-n", "2", "./app")), HERE, "/"))
    assert "# Options of mpirun that aprun was not given: --bind-to core" in other
    assert other.splitlines()[-1] == "exec aprun -n 2 -N 2 -d 4 -j 2 -cc depth ./app"


def test_the_stand_in_rejects_what_aprun_does_not_have(tmp_path: Path, stand_ins: Path) -> None:
    script = tmp_path / "job"
    for words, why in (("--ppn 2", "unrecognized option"), ("-n 2 -cc core", "invalid -cc"), ("-n 1 -N 2", "-N value")):
        script.write_text(f"aprun {words} true\n")
        done = ran(script, stand_ins, "sh")
        assert done.returncode == 1 and why in done.stderr.decode()


@pytest.mark.parametrize(("name", "given"), [("7zip", "j7zip"), ("a" * 40, "a" * 15)])
def test_a_name_that_qsub_takes(name: str, given: str) -> None:
    for form in ("pbs", "pbs-alps"):
        assert f"#PBS -N {given}\n" in all_forms()[form].make(Kept(Setting((f"./{name}",)), HERE, "/"))
