# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise profile` on programs whose profile is known."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nodewise.api.stored_profile import _why_cut
from nodewise.base.errors import ProgramError, StoreError
from nodewise.profile import perf
from nodewise.profile.perf import script_lines
from tests.cli.small_disk import on_small_disk
from tests.profile.programs import SHARES, compiled, need_perf
from tests.started import Begun, started

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_perf()
    return compiled(tmp_path_factory.mktemp("work"))


def test_functions_have_the_shares_that_they_take(nodewise: Command, work: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept"
    files = ("--collapsed", str(tmp_path / "stacks"), "--speedscope", str(tmp_path / "scope.json"))
    done = nodewise("profile", "--rate", "499", "--out", str(out), *files, "--json", "--", str(work), "400000")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    found = {f["function"]: f for f in told["functions"]}
    assert told["samples"] > 100
    for name, share in SHARES.items():
        assert abs(found[name]["share"] - share) < 0.12, (name, found[name])
        assert found[name]["low"] <= found[name]["share"] <= found[name]["high"]
    if told["chains"] == "dwarf":
        assert found.get("phases", {"total": 0})["total"] > 0.9 or any(
            "phases" in line for line in (tmp_path / "stacks").read_text().splitlines()
        )
    lines = {line["line"] for line in told["lines"]}
    assert not lines or lines <= set(range(1, 50))
    counted = sum(int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "stacks").read_text().splitlines())
    assert counted == told["samples"]
    assert json.loads((tmp_path / "scope.json").read_text())["profiles"]
    page = (out / "report.html").read_text()
    assert "half" in page and "<script" in page
    again = nodewise("profile", "--read", str(out), "--json")
    assert json.loads(again.stdout)["functions"] == told["functions"]
    against = nodewise("profile", "--read", str(out), "--against", str(out), "--json")
    assert against.returncode == 0, against.stderr
    assert json.loads(again.stdout)["since"] is None
    since = json.loads(against.stdout)["since"]
    assert since["taken_at"] == told["taken_at"]
    same = {c["function"]: c for c in since["changes"]}
    assert same["half"]["difference"] == 0 and same["half"]["before"] == same["half"]["after"]
    assert not any(c["sure"] for c in since["changes"])
    assert any((out / "builds").rglob("elf"))
    # what it was made of is beside it, and read once the program is another one
    kept = work.read_bytes()
    work.unlink()
    try:
        later = nodewise("profile", "--read", str(out), "--json")
    finally:
        work.write_bytes(kept)
        work.chmod(0o755)
    assert {f["function"] for f in json.loads(later.stdout)["functions"]} == set(found)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed")
def test_ranks_that_run_in_another_folder_are_recorded_in_the_one_that_is_named(
    nodewise: Command, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is seen from theirs, the recordings from here."""
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    shutil.copy(work, tmp_path / "sub/app")
    launch = ("mpirun", "--oversubscribe", "-n", "2", "-wdir", "sub", "./app", "100000")
    done = nodewise("profile", "--rate", "499", "--call-graph", "none", "--out", "kept", "--json", "--", *launch)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["recordings"]) == 2 and list((tmp_path / "sub").iterdir()) == [tmp_path / "sub/app"]
    assert "half" in {f["function"] for f in told["functions"]}


def test_a_thread_that_waits_is_shown_to_wait(nodewise: Command, work: Path, tmp_path: Path) -> None:
    done = nodewise("profile", "--out", str(tmp_path / "x"), "--json", "--", str(work), "200000", "threads")
    told = json.loads(done.stdout)
    main = next(t for t in told["threads"] if t["pid"] == t["tid"])
    other = next(t for t in told["threads"] if t["pid"] != t["tid"])
    assert main["waited_s"] > 0.08 and other["share"] > 0.9


def test_its_exit_code_is_the_programs(nodewise: Command, work: Path, tmp_path: Path) -> None:
    done = nodewise("profile", "--out", str(tmp_path / "x"), "--", str(work), "1000", "threads", "7")
    assert done.returncode == 7, done.stderr


@pytest.mark.long
def test_a_program_that_ends_with_its_recording_has_the_exit_code_of_how_it_died(
    nodewise: Command, tmp_path: Path
) -> None:
    loop = "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done"
    done = nodewise(
        *("profile", "--max-size", "100kB", "--rate", "999", "--call-graph", "dwarf", "--out", str(tmp_path / "p")),
        *("--", "sh", "-c", loop),
    )
    assert done.returncode == 143 and "the exit code is 143" in " ".join(done.stderr.split()), done.stderr
    assert "perf ended the program when the recording had reached" in done.stderr
    ended = nodewise("profile", "--max-size", "10MB", "--out", str(tmp_path / "q"), "--", "sh", "-c", "kill -TERM $$")
    assert ended.returncode == 143


@pytest.mark.long
def test_what_the_program_started_does_not_outlive_the_limit(nodewise: Command, tmp_path: Path) -> None:
    need_perf()
    below = f"(while :; do :; done) & echo $! >{tmp_path}/pid; wait"
    limit = ("--max-size", "100kB", "--rate", "999", "--call-graph", "dwarf")
    done = nodewise("profile", *limit, "--out", str(tmp_path / "p"), "--", "sh", "-c", below)
    assert done.returncode == 143 and "perf ended the program" in done.stderr, done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


DEEP = """
static double leaf(long n) { volatile char room[20000]; double sum = 0; for (long i = 0; i < n; i++) { room[i % 20000] = (char)i; sum += room[i % 777]; } return sum; }
int main(void) { return leaf(40000000L) == 1.5; }
"""


@pytest.mark.long
def test_callers_beyond_the_copy_of_the_stack_are_missed_and_that_is_said(nodewise: Command, tmp_path: Path) -> None:
    need_perf()
    (tmp_path / "deep.c").write_text(DEEP)
    subprocess.run(["gcc", "-O1", "-fno-inline", "-o", "deep", "deep.c"], cwd=tmp_path, check=True)
    for chains, missed in (("dwarf", True), ("dwarf,32768", False)):
        out = str(tmp_path / chains)
        done = nodewise(
            *("profile", "--call-graph", chains, "--rate", "299", "--out", out, "--json", "--"), str(tmp_path / "deep")
        )
        notes = [note for note in json.loads(done.stdout)["notes"] if "outer callers are missing" in note]
        assert bool(notes) == missed, (chains, done.stdout)
        assert not missed or ("8 KiB" in notes[0] and "--call-graph dwarf,65528" in notes[0])
    wrong = nodewise("profile", "--call-graph", "dwarf,9x", "--", "true")
    assert wrong.returncode == 2 and "dwarf,32768" in wrong.stderr


def test_a_program_whose_path_has_a_line_break_is_refused_before_it_runs(nodewise: Command, tmp_path: Path) -> None:
    (folder := tmp_path / "a\nb").mkdir()
    (program := folder / "run").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    (link := tmp_path / "link").symlink_to(program)
    for name in (program, link):
        done = nodewise("profile", "--out", str(tmp_path / "kept"), "--", str(name))
        assert done.returncode == 2 and "line break" in done.stderr and not (tmp_path / "ran").exists(), done.stderr


@pytest.mark.long
def test_chains_that_copy_no_stack_are_not_told_to_copy_more(nodewise: Command, tmp_path: Path) -> None:
    need_perf()
    plain = compiled(tmp_path, "-fomit-frame-pointer")
    for chains in ("none", "fp"):
        out = ("--out", str(tmp_path / chains), "--json", "--", str(plain), "100000")
        told = json.loads(nodewise("profile", "--call-graph", chains, "--rate", "299", *out).stdout)
        notes = [note for note in told["notes"] if "outer callers" in note]
        assert not any("copied" in note for note in notes)
        assert not notes if chains == "none" else all("-fno-omit-frame-pointer" in note for note in notes)
        assert shutil.which("addr2line") is None or told["lines"], chains
    assert "keeps no frame pointers" in _why_cut("fp", "") and "8 KiB" in _why_cut("dwarf", "")
    # nobody is sent to what cannot help either
    assert "try --call-graph dwarf" in _why_cut("fp", "") and "dwarf" not in _why_cut("fp", "it is linked statically")


@pytest.mark.long
def test_a_static_program_that_is_to_be_unwound_is_told_why_that_fails(nodewise: Command, tmp_path: Path) -> None:
    need_perf()
    static = compiled(tmp_path, "-static")
    for chains in ("dwarf", "dwarf,32KiB"):
        words = ("profile", "--call-graph", chains, "--rate", "299", "--out", str(tmp_path / chains), "--json", "--")
        told = json.loads(nodewise(*words, str(static), "100000").stdout)
        [note] = [note for note in told["notes"] if "outer callers are missing" in note]
        assert "linked statically, where perf unwinds nothing" in note and "KiB" not in note and "copied" not in note
        # as it was kept
        again = json.loads(nodewise("profile", "--read", str(tmp_path / chains), "--json").stdout)
        assert note in again["notes"] and len(again["notes"]) == len(told["notes"])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=pytest.mark.long)]
)
def test_who_ends_it_gets_the_code_of_a_shell(tmp_path: Path, number: int, code: int) -> None:
    """The program ends with it."""
    need_perf()
    below = f"echo $$ >{tmp_path}/pid; exec sleep 600"
    words = [sys.executable, "-m", "nodewise", "profile", "--out", "x", "--", "sh", "-c", below]
    # whoever starts the tests by nohup ignores one of them
    words = ["env", f"--default-signal={number:d}", *words]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE) as child:
        until = time.monotonic() + 60
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            assert child.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        child.send_signal(number)
        _, said = child.communicate(timeout=60)
    assert child.returncode == code and b"interrupted" in said, said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.long
def test_what_a_killed_perf_ran_is_ended_and_said_so(nodewise: Command, tmp_path: Path) -> None:
    """The folder can be used again at once."""
    need_perf()
    below = f"echo $$ $PPID >{tmp_path}/pid; exec sleep 600"
    with Begun("profile", "--out", "x", "--", "sh", "-c", below, cwd=tmp_path, text=True) as child:
        until = time.monotonic() + 60
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            assert child.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        program, perf = map(int, (tmp_path / "pid").read_text().split())
        os.kill(perf, signal.SIGKILL)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 2 and "perf was ended by SIGKILL in the middle of recording" in said, said
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)
    assert not (tmp_path / "x/profile.json").exists() and not (tmp_path / "x/perf.data").exists()
    again = nodewise("profile", "--out", str(tmp_path / "x"), "--", "sh", "-c", "kill -KILL $$")
    # the program's own end by that signal is no end of perf
    assert again.returncode == 137 and "perf was ended" not in again.stderr, again.stderr
    assert (tmp_path / "x/profile.json").exists()


def test_what_cannot_be_read_has_no_profile_beside_it(
    nodewise_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_perf()

    def broken(*_: object) -> None:
        raise ProgramError("perf cannot read it")

    monkeypatch.setattr("nodewise.api.profile.read_recordings", broken)
    assert nodewise_here("profile", "--out", str(tmp_path / "x"), "--", "true").returncode == 2
    assert {path.name for path in (tmp_path / "x").iterdir()} - {"builds"} == {"perf.data"}
    again = nodewise_here("profile", "--out", str(tmp_path / "x"), "--", "true")
    assert again.returncode == 2 and "holds a recording that was broken off" in again.stderr


@pytest.mark.parametrize("option", ["--collapsed", "--speedscope"])
def test_files_that_cannot_be_written_are_refused_before_the_run(
    nodewise: Command, option: str, tmp_path: Path
) -> None:
    need_perf()
    run = ("--", "touch", str(tmp_path / "ran"))
    done = nodewise("profile", "--out", str(tmp_path / "x"), option, str(tmp_path / "none/file"), *run)
    assert done.returncode == 2 and f"{option}: no such directory" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
    # that of the profile is made
    done = nodewise("profile", "--out", str(tmp_path / "x"), option, str(tmp_path / "x/file"), *run)
    assert done.returncode == 0 and (tmp_path / "x/file").exists() and (tmp_path / "ran").exists(), done.stderr


@pytest.mark.parametrize(("code", "expected"), [(7, 7), (0, 2)])
def test_a_launcher_that_starts_nothing_has_its_own_exit_code(
    nodewise: Command, code: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As mpirun that refuses root."""
    need_perf()
    (mpirun := tmp_path / "mpirun").write_text(f"#!/bin/sh\nexit {code}\n")
    mpirun.chmod(0o755)
    done = nodewise("profile", "--out", str(tmp_path / "x"), "--", str(mpirun), "-n", "2", "true")
    assert done.returncode == expected and "nothing was recorded" in done.stderr, done.stderr
    assert ("ended by itself with the exit code 7" in done.stderr) == bool(code)
    assert [path.name for path in tmp_path.iterdir()] == ["mpirun"]


def test_what_records_nothing_leaves_no_folder(
    nodewise_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for out in ("new", "a/b/c", "there"):
        assert nodewise_here("profile", "--out", out, "--", "no-such-program").returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["there"]

    def ended(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("nodewise.api.profile.prepare_profile", ended)
    assert nodewise_here("profile", "--out", "a/b", "--", "true").returncode == 143
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--", "no-such-program"), "no such program"),
        ((), "name either a command"),
        (("--rate", "0", "--", "true"), "not a rate"),
        (("--max-size", "much", "--", "true"), "not a size"),
        (("--only-ranks", "0", "--", "true"), "MPI launcher"),
        (("--read", "nowhere"), "holds no profile"),
        (("--read", "nowhere", "--rate", "50"), "--rate"),
    ],
)
def test_what_cannot_be_is_said_in_a_message(
    nodewise: Command, words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    need_perf()
    done = nodewise("profile", *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert not list(tmp_path.rglob("report.html"))


def test_without_perf_the_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "true").symlink_to("/bin/true")
    done = started("profile", "--", "true", cwd=tmp_path, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 3 and "linux-perf" in done.stderr


@pytest.mark.long
def test_a_full_disk_is_what_is_told_of(work: Path, tmp_path: Path) -> None:
    code, _, said, _ = on_small_disk(tmp_path, "200k", 190, "profile", "--out", "x", "--", str(work), "1000")
    assert code == 2 and "cannot write x: No space left" in said and "mapped" not in said
    more = ("--rate", "2999", "--call-graph", "dwarf")
    code, _, said, _ = on_small_disk(tmp_path, "400k", 0, "profile", *more, "--out", "x", "--", str(work), "200000")
    assert code == 2 and "cut short: cannot write x: No space left" in said and "--max-size" in said
    assert "recording was complete" not in said


@pytest.mark.long
def test_a_limit_of_sizes_is_what_is_told_of(work: Path, tmp_path: Path) -> None:
    words = ("profile", "--rate", "2999", "--call-graph", "dwarf", "--out", "x", "--", str(work), "200000")
    done = Begun(*words, cwd=tmp_path, limits={"RLIMIT_FSIZE": (300_000, 300_000)}, text=True)
    said = done.communicate(timeout=100)[1]
    assert done.returncode == 2 and "x/perf.data: File too large" in said and "ulimit -f" in said


def test_where_threads_wait_is_tried_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    need_perf()
    tried: list[str] = []
    monkeypatch.setattr(perf, "_samples", lambda _, event: tried.append(event) or True)
    assert not perf.find_perf(off_cpu=False).waiting and tried == ["cycles"]
    assert perf.find_perf(off_cpu=True).waiting and tried[-1] == "sched:sched_switch"


def test_a_page_that_cannot_be_written_costs_itself_only(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodewise_here: Command
) -> None:
    assert nodewise_here("profile", "--out", "x", "--", str(work), "200000").returncode == 0

    def full(path: Path, content: object) -> None:
        raise StoreError(f"cannot write {path}: No space left on device", "free some")

    monkeypatch.setattr("nodewise.base.files.write_whole", full)
    done = nodewise_here("profile", "--read", "x")
    assert done.returncode == 2 and "nodewise profile --read x writes the page" in done.stderr
    assert "self  95% interval" in done.stderr
    done = nodewise_here("profile", "--read", "x", "--json")
    assert done.returncode == 2 and json.loads(done.stdout)["report"] is None


def test_processes_too_short_for_a_sample_are_called_by_what_they_ran(nodewise: Command, tmp_path: Path) -> None:
    need_perf()
    loop = "i=0; while [ $i -lt 60 ]; do /bin/true $i; i=$((i+1)); done"
    done = nodewise("profile", "--out", str(tmp_path / "p"), "--json", "--", "sh", "-c", loop)
    told = json.loads(done.stdout)
    assert sum(t["name"] == "true" for t in told["threads"]) >= 30
    # which is known of all, and until when, where perf says what was executed and what ended
    ended = [line for line in script_lines("perf", tmp_path / "p/perf.data") if "PERF_RECORD_EXIT" in line]
    assert sum(line.split()[0] == "true" for line in ended) >= 55
    assert any("ended before their first sample" in note for note in told["notes"])
