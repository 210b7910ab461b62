# SPDX-License-Identifier: BSD-3-Clause
"""Experiments as jobs: the job's script run by sh with stand-ins for Slurm, and by a real Slurm; signals at random moments."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nodewise as public
from nodewise.api.options import choose_run
from nodewise.api.submit import with_nodes
from nodewise.base.errors import InputError, StoreError
from nodewise.jobs.submission import JOB, LOG, Array, job_text, queued, read_options, submit
from nodewise.records.experiment import read_experiment
from tests.slurm_cluster import SlurmCluster, slurm_cluster
from tests.started import started

#: What it prints depends on the number of the run in its experiment, and on its argument.
PROGRAM = """#!/bin/sh
sleep 0.02
printf '{"nodewise": 1, "seconds": 1.%04d}\\n' $(( (NODEWISE_RUN * 7919) % 101 + 100 * $1 ))
"""
#: sbatch keeps what it is given, squeue says what is written down, scontrol that it was called.
STAND_INS = {
    "sbatch": 'printf "%s\\n" "$@" > "$HERE/sbatch"; cat > "$HERE/job.sh"; [ ! -e "$HERE/refuse" ] || { echo "sbatch: error: no such partition" >&2; exit 1; }\necho 7\n',
    "squeue": 'cat "$HERE/states" 2>/dev/null || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }\n',
    "scontrol": 'echo "$@" >> "$HERE/requeued"\n',
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, and Slurm's commands by stand-ins."""
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "bin").mkdir()
    for name, text in STAND_INS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tune_words(runs: int) -> tuple[str, ...]:
    words = ("--axes", "n", "-P", "n=4,1,2", "--accept-disturbed", "--max-runs", str(runs), "--out", "x")
    return ("tune", *words)


def typed(*words: str) -> tuple[str, ...]:
    return (*words, "--", "./program", "{n}")


def nodewise(folder: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return started(*words, cwd=folder, env=env)


def decided(folder: Path) -> dict[str, Any]:
    """What was found, but for what is of the clock and of the system."""
    verdict: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    # a busy machine may make some blocks again, and so the numbers are not of the same runs
    return {name: verdict[name] for name in ("verdict", "candidate", "stopped", "axes", "more_runs")}


def every_run_once(folder: Path) -> None:
    experiment = read_experiment(folder)
    assert experiment.damaged_lines == 0 and not [r for r in experiment.records if r.sample.error]
    places = Counter((r.phase, r.block, r.position) for r in experiment.records)
    assert max(places.values()) == 1


def test_a_job_that_is_signalled_and_killed_goes_on_until_it_is_decided(here: Path) -> None:
    done = nodewise(here, *typed("tune", "--submit=partition=long time=5", *tune_words(40)[1:]))
    assert done.returncode == 0 and "job       7, one for the whole" in done.stdout, done.stderr
    given = (here / "sbatch").read_text().splitlines()
    assert given == ["--parsable", f"--output={here}/x/{LOG}", "--partition=long", "--time=5"]
    text = (here / "job.sh").read_text()
    assert {"#SBATCH --requeue", "#SBATCH --signal=B:USR1@60", "#SBATCH --open-mode=append"} < set(text.splitlines())
    chance = random.Random(6)
    # before its time limit the script is asked; nodewise itself is killed
    events = [signal.SIGUSR1, signal.SIGKILL]
    samples = here / "x/samples.jsonl"
    for part, event in enumerate([*events, None]):
        (here / "requeued").unlink(missing_ok=True)
        log = (here / f"log{part}").open("w")
        job = subprocess.Popen(
            ["sh", str(here / "job.sh")], env={**os.environ, "SLURM_JOB_ID": "7"}, stderr=log, stdout=log, cwd="/"
        )
        size = samples.stat().st_size if samples.exists() else 0
        if event is not None:
            # once something was measured in this part, and as far in as chance has it
            while not samples.exists() or samples.stat().st_size <= size + 800:
                assert job.poll() is None, (here / f"log{part}").read_text()
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.2))
            if event == signal.SIGKILL:
                subprocess.run(["pkill", "-KILL", "-P", str(job.pid), "-f", "nodewise tune"], check=True)
            else:
                job.send_signal(event)
        code = job.wait(timeout=60)
        asked = (here / "requeued").read_text() if (here / "requeued").exists() else ""
        assert asked == ("" if event is None else "requeue 7\n"), (event, code, (here / f"log{part}").read_text())
    assert code == 0
    found = decided(here / "x")
    assert (found["verdict"], found["candidate"], found["stopped"]) == ("faster", "n=1", "decided")
    every_run_once(here / "x")


def test_a_job_in_which_nothing_is_measured_does_not_go_round(here: Path) -> None:
    # its first run is longer than its job may be
    (here / "y").mkdir()
    text = job_text(here / "y", "y", str(here), ["sh", "-c", "echo {} > y/question.json; exec sleep 1000"], ["false"])
    (here / "job").write_text(text)
    job = subprocess.Popen(["sh", "job"], cwd=here, stderr=subprocess.PIPE, text=True)
    while not (here / "y/question.json").exists():
        time.sleep(0.01)
    time.sleep(0.1)
    job.send_signal(signal.SIGUSR1)
    _, printed = job.communicate(timeout=30)
    assert job.returncode == 1 and "nothing was measured in this part of the job" in printed
    assert not (here / "requeued").exists()


def test_never_two_are_queued(here: Path) -> None:
    folder = here / "x"
    text = job_text(folder, "x", "/", ["true"], ["true"])
    assert submit(folder, text, []) == 7
    for states, over in (("PENDING\n", False), ("RUNNING\n", False), ("COMPLETING\n", False), ("COMPLETED\n", True)):
        (here / "states").write_text(states)
        assert (queued(folder) is None) == over
        (here / "sbatch").unlink(missing_ok=True)
        if over:
            submit(folder, text, [])
        else:
            with pytest.raises(InputError, match=r"job 7 of .* is queued or runs"):
                submit(folder, text, [])
        assert (here / "sbatch").exists() == over
    # Slurm has forgotten it
    (here / "states").unlink()
    assert queued(folder) is None
    (here / "bin/squeue").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    with pytest.raises(InputError, match="is not known: Unable to contact"):
        submit(folder, text, [])


def test_what_sbatch_refuses_is_said_and_no_job_is_remembered(here: Path) -> None:
    (here / "refuse").touch()
    done = nodewise(here, *typed("tune", "--submit=partition=none"))
    assert done.returncode == 2 and "sbatch refuses the job: sbatch: error: no such partition" in done.stderr
    assert not list(here.rglob(JOB))
    for words, why in ((("tune", "--resume", "gone", "--submit"), "no such directory: gone"),):
        done = nodewise(here, *words)
        assert done.returncode == 2 and why in done.stderr, done.stderr


def test_the_number_of_a_job_that_cannot_be_kept_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, _text: str) -> None:
        raise StoreError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr("nodewise.jobs.submission.write_whole", full)
    with pytest.raises(StoreError, match="job 7 was handed in, and its number cannot be kept: cannot write ") as caught:
        submit(here / "x", "#!/bin/sh\n", [])
    assert "scancel 7" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sleep 600 & wait\n", "sbatch does not answer: it took longer than 1 s"),
        ("sleep 600 &\necho 7\n", "sbatch does not answer: it took longer than 1 s"),
        ("head -c 30000000 /dev/zero | tr '\\0' x\n", "sbatch refuses the job: xxx"),
    ],
)
def test_an_sbatch_that_does_not_end_or_says_too_much_is_one_message(
    here: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr("nodewise.jobs.submission._ASK_S", 1.0)
    (here / "bin" / "sbatch").write_text(f"#!/bin/sh\n{text}")
    with pytest.raises(InputError) as caught:
        submit(here / "x", "#!/bin/sh\n", [])
    assert said.partition(":")[2] in caught.value.what and len(caught.value.what) < 1000
    assert not list(here.rglob(JOB))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("echo 12", 12),
        ("echo '12;cluster'", 12),
        ("echo Submitted batch job 12", 12),
        ("echo Welcome; echo 12", 12),
    ],
)
def test_the_number_of_a_job_is_found_in_what_a_site_says_around_it(here: Path, text: str, number: int) -> None:
    (here / "bin" / "sbatch").write_text(f"#!/bin/sh\n{text}\n")
    assert submit(here / "x", "#!/bin/sh\n", []) == number


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo thank you", "sbatch ended well, and its last line is no number of a job: thank you"),
        ("exit 0", "its last line is no number of a job: it said nothing"),
        ("exit 255", "sbatch refuses the job: it ended with exit code 255, and said nothing"),
        ("kill -9 $$", "sbatch refuses the job: it ended with signal 9, and said nothing"),
    ],
)
def test_a_job_that_is_none_leaves_no_folder(here: Path, text: str, said: str) -> None:
    (here / "bin" / "sbatch").write_text(f"#!/bin/sh\n{text}\n")
    for array in (None, Array(3, None)):
        with pytest.raises(InputError) as caught:
            submit(here / "new" / "x", "#!/bin/sh\n", [], array)
        assert said in caught.value.what and not (here / "new").exists()
    (here / "old").mkdir()
    with pytest.raises(InputError):
        submit(here / "old", "#!/bin/sh\n", [])
    assert (here / "old").exists()


@pytest.mark.parametrize("text", ["output=/x", "time=1:00 wrap=touch", "array=1-3", "time=1 parsable"])
def test_options_that_nodewise_sets_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"nodewise sets (output|wrap|array|parsable) itself"):
        read_options(text)


def test_options_of_sbatch_are_distinguished_from_a_program() -> None:
    assert read_options("") == ()
    assert read_options("partition=long time=4:00:00 comment='a b' hold") == (
        *("--partition=long", "--time=4:00:00", "--comment=a b", "--hold"),
    )
    for bad in ("./program", "program", "program n=1", "-p x", "X=1"):
        with pytest.raises(InputError, match="are no options of sbatch"):
            read_options(bad)
    with pytest.raises(InputError, match="cannot be split into words"):
        read_options("p='x")


@pytest.mark.parametrize(
    "name", ["a b", "it's", '"$HOME" `true` $(exit 3)', "one\ntwo", os.fsdecode(b"\xff%j"), "-x=;*&"]
)
def test_the_script_of_a_job_holds_any_name(here: Path, name: str) -> None:
    folder, start = here / f"d {name}", here / f"from {name}"
    folder.mkdir()
    start.mkdir()
    keep = 'printf "%s\\0" "$1" "$PWD" > "$HERE/kept"'
    text = job_text(folder, name, str(start), ["sh", "-c", keep, "sh", name], ["sh", "-c", "exit 3"])
    submit(folder, text, [])
    for shell in ("dash", "bash"):
        subprocess.run([shell, str(here / "job.sh")], cwd="/", check=True)
        assert (here / "kept").read_bytes() == os.fsencode(f"{name}\0{start}\0")
    (folder / "question.json").write_text("{}")
    assert subprocess.run(["sh", str(here / "job.sh")], cwd="/", check=False).returncode == 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with slurm_cluster() as started:
        yield started


@pytest.mark.long
def test_a_job_of_a_real_slurm_decides_as_undisturbed_after_twenty_requeues_and_kills(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)
    words = typed(*tune_words(400))
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "program").symlink_to(tmp_path / "program")
    assert nodewise(alone, *words).returncode == 0
    environment = dict(cluster.environment)
    submitted = ("tune", "--submit", *words[1:])
    first = nodewise(tmp_path, *submitted, env=environment)
    assert first.returncode == 0, first.stderr
    chance = random.Random(11)
    samples, events = tmp_path / "x/samples.jsonl", 0

    def states() -> list[str]:
        found = cluster.ask("squeue", "-h", "-o", "%T").stdout.split()
        # never two of an experiment
        assert len(found) <= 1
        return found

    def until(ready: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not ready():
            log = tmp_path / "x" / LOG
            assert time.monotonic() < end, log.read_text() if log.exists() else "no job began"
            time.sleep(0.05)

    def size() -> int:
        return samples.stat().st_size if samples.exists() else 0

    kinds = Counter[str]()
    while events < 20:
        # whatever happens in a part, something is measured in it, else it would never come to its end
        until(lambda: states() in (["RUNNING"], []))
        if not states():
            break
        before = size()
        until(lambda before=before: size() > before or not states())  # type: ignore[misc]
        time.sleep(chance.uniform(0, 0.3))
        number = json.loads((tmp_path / "x" / JOB).read_text())["id"]
        kind = chance.choice(["requeue", "limit", "killed", "cancelled"])
        if kind == "requeue":
            cluster.ask("scontrol", "requeue", str(number))
        elif kind == "limit":
            cluster.ask("scancel", "--batch", "--signal=USR1", str(number))
        elif kind == "killed":
            pids = [
                p
                for p in cluster.processes("nodewise tune")
                if f"SLURM_JOB_ID={number}".encode() in Path(f"/proc/{p}/environ").read_bytes()
            ]
            own = [p for p in pids if b"nodewise\0tune" in Path(f"/proc/{p}/cmdline").read_bytes()]
            for pid in own:
                os.kill(pid, signal.SIGKILL)
        else:
            cluster.ask("scancel", str(number))
            until(lambda: not states())
            again = nodewise(tmp_path, "tune", "--resume", "x", "--submit", env=environment)
            assert again.returncode == 0, again.stderr
        if not states():
            break
        events += 1
        kinds[kind] += 1
        # it does not run on as if nothing had been
        if kind != "cancelled":
            until(lambda: states() != ["RUNNING"])
    until(lambda: not states())
    print(kinds)
    assert events == 20, "the experiment was over before"
    every_run_once(tmp_path / "x")
    assert decided(tmp_path / "x") == decided(alone / "x")
    assert cluster.processes(str(tmp_path / "program")) == []


@pytest.mark.long
def test_a_tune_over_nodes_goes_on_where_one_of_them_is_lost(cluster: SlurmCluster, tmp_path: Path) -> None:
    program = tmp_path / "my program"
    program.write_text("#!/bin/sh\nsleep 0.1\n")
    program.chmod(0o755)
    each = min(2, len(os.sched_getaffinity(0)))
    words = ("--launcher", "srun", "--ranks", str(2 * each), "--ranks-per-node", str(each), "--axes", "placement")
    bounds = ("--accept-disturbed", "--max-runs", "24", "--budget", "5min", "--out", "x")
    done = nodewise(tmp_path, "tune", "--submit", *words, *bounds, "--", str(program), env=cluster.environment)
    assert done.returncode == 0, done.stderr
    number = json.loads((tmp_path / "x" / JOB).read_text())["id"]
    samples, log = tmp_path / "x/samples.jsonl", tmp_path / "x" / LOG

    def asked(what: str) -> str:
        return cluster.ask("squeue", "-h", "-j", str(number), "-o", what).stdout.strip()

    def until(ready: Callable[[], bool]) -> None:
        end = time.monotonic() + 150
        while not ready():
            assert time.monotonic() < end, log.read_text() if log.exists() else "no job began"
            time.sleep(0.1)

    until(lambda: samples.exists() and samples.read_text().count("\n") >= 4)
    assert asked("%D") == "2"
    lost = max(rank.host for rank in read_experiment(tmp_path / "x").records[0].sample.ranks)
    cluster.lose_node(lost)
    until(lambda: asked("%T") == "")
    assert (tmp_path / "x/verdict.json").exists(), log.read_text()
    every_run_once(tmp_path / "x")
    hosts = [
        tuple(sorted(Counter(p.host for p in r.sample.ranks).items())) for r in read_experiment(tmp_path / "x").records
    ]
    # other nodes, and as many ranks on each
    assert len(set(hosts)) == 2 and all([count for _, count in found] == [each, each] for found in hosts)
    assert cluster.processes(str(program)) == []
    cluster.start_node(lost)
    cluster.wait_idle()


def test_a_job_has_as_many_nodes_as_its_ranks_take() -> None:
    run = choose_run()
    for options, command, given in (
        ("partition=long", "srun -n 4 -N 2 ./app", "nodes=2 partition=long"),
        ("", "srun -n 6 --ntasks-per-node 2 ./app", "nodes=3"),
        ("", "mpirun -n 4 --map-by ppr:2:node ./app", "nodes=2"),
        ("nodes=4", "srun -n 4 -N 2 ./app", "nodes=4"),
        ("", "srun -n 4 ./app", ""),
        ("time=5", "./app", "time=5"),
    ):
        assert with_nodes(options, [command.split()], run) == given


@pytest.mark.long
def test_python_hands_in_the_same_job(here: Path) -> None:
    ask: dict[str, Any] = {"parameters": {"n": [4, 1, 2]}, "axes": ["n"], "max_runs": 40, "budget": None}
    found = public.submit("./program {n}", out="tuned", sbatch="time=1:00:00", accept_disturbed=True, **ask)
    assert (found.job, found.experiment, found.log) == (7, str(here / "tuned"), str(here / "tuned" / LOG))
    assert "--time=1:00:00" in (here / "sbatch").read_text()
    done = subprocess.run(["sh", "job.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    verdict = public.tune("./program {n}", out="tuned", resume=True, accept_disturbed=True, **ask)
    assert (verdict.verdict, verdict.best.command) == (public.Word.FASTER, ("./program", "1"))
    with pytest.raises(InputError, match="holds an experiment already"):
        public.submit("./program {n}", out="tuned", accept_disturbed=True, **ask)
    public.submit("./program {n}", out="tuned", resume=True)
    assert "tune --resume" in (here / "job.sh").read_text()


@pytest.mark.long
def test_a_suite_is_one_job_that_goes_on(here: Path) -> None:
    (here / "nodewise.toml").write_text(
        '[defaults]\nruns = 12\nwarmup = 0\n[command.a]\nrun = "./program 4"\n[command.b]\nrun = "./program 1"\n'
    )
    done = nodewise(here, "suite", "run", "--accept-disturbed", "--out", "kept", "--submit=time=5")
    assert done.returncode == 0 and "job       7, one for the whole suite" in done.stdout, done.stderr
    assert (here / "sbatch").read_text().splitlines() == ["--parsable", f"--output={here}/kept/{LOG}", "--time=5"]
    job = subprocess.Popen(["sh", "job.sh"], env={**os.environ, "SLURM_JOB_ID": "7"}, stdout=-3, stderr=-3)
    samples = here / "kept/a/samples.jsonl"
    while not samples.exists() or samples.stat().st_size < 800:
        assert job.poll() is None
        time.sleep(0.005)
    job.send_signal(signal.SIGUSR1)
    job.wait(timeout=60)
    assert (here / "requeued").read_text() == "requeue 7\n"
    before = samples.read_bytes()
    subprocess.run(["sh", "job.sh"], env={**os.environ, "SLURM_JOB_ID": "7"}, check=True, capture_output=True)
    assert samples.read_bytes().startswith(before)
    for name in "ab":
        every_run_once(here / "kept" / name)
        assert len(read_experiment(here / "kept" / name).records) == 12
    again = nodewise(here, "suite", "run", "--resume", "kept", "--submit", "--json")
    assert again.returncode == 2 and "a job prints its answer when it ends" in again.stderr
