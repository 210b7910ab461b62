# SPDX-License-Identifier: BSD-3-Clause
"""The command line where something is wrong around it: signals, full disks, no files, no directory, many at once."""

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.ends import ended_like_ctrl_c
from nodewise.base.errors import InputError, StoreError
from nodewise.base.exit_codes import ExitCode
from nodewise.cli.keeping import hand_out, kept_in
from nodewise.cli.main import main, nodewise_command
from nodewise.records.columns import Record
from nodewise.records.experiment import Writer
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.cli.conftest import Command
from tests.questions import tune_question
from tests.started import Begun

COMPARE = ("compare", "--accept-disturbed", "--runs", "6")


def _start(folder: Path, *words: str | bytes, **more: Any) -> subprocess.Popen[bytes]:
    if "preexec_fn" not in more:
        return Begun(*words, cwd=folder, **more)
    command = [sys.executable, "-m", "nodewise", *words]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen(command, cwd=folder, **pipes)


def _run(folder: Path, *words: str | bytes, **more: Any) -> tuple[int, str, str]:
    out, err = (process := _start(folder, *words, **more)).communicate(timeout=100)
    return process.returncode, (out or b"").decode(), (err or b"").decode()


def _until(condition: Callable[[], bool], limit_s: float = 60.0) -> None:
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < limit_s
        time.sleep(0.02)


def _samples(folder: Path, count: int) -> Callable[[], bool]:
    path = folder / "samples.jsonl"
    return lambda: path.exists() and path.read_text().count('"type": "sample"') >= count


# --- bytes


@pytest.mark.long
def test_any_bytes_in_words_variables_and_names_of_folders(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    environment = {**os.environ, "X": os.fsdecode(b"v\xfe")}
    out = os.fsdecode(b"o\xff")
    code, said, error = _run(folder, *COMPARE, "--out", out, b"printf a\xffb", "sleep 0.01", env=environment)
    assert code == 0 and "printf a\\xffb" in said and "report    o\\xff/report.html" in said, error
    page = (folder / out / "report.html").read_text()
    assert "printf a\\xffb" in page
    question = json.loads((folder / out / "question.json").read_text())
    assert question["command"][0] == "printf a\udcffb" and os.fsencode(question["cwd"]).endswith(b"d\xff")
    for words in (["report", "--svg", "s", "--csv", "t.csv"], ["compare", "--resume"]):
        code, said, error = _run(folder, *words, out, env=environment)
        assert code == 0, error
    assert "printf a\\xffb" in (folder / "t.csv").read_text()
    code, said, error = _run(folder, "run", "-r", "1", "--", "printf", b"\xff", env=environment)
    assert code == 0, error


# --- early ends


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_end_before_there_is_an_answer_says_where_the_runs_are(tmp_path: Path, number: int) -> None:
    words = ["--axes", "", "--max-runs", "60", "--budget", "60s", "-P", "t=0.2,0.3"]
    process = _start(tmp_path, "tune", "--out", "x", *words, "--", "sleep", "{t}")
    _until(_samples(tmp_path / "x", 2))
    # the second one comes while the first is being answered
    process.send_signal(number)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    if process.returncode == 128 + number:
        assert b"--resume x" in error and b"report x" in error
    else:
        assert process.returncode == 0 and b"report    x/report.html" in out


@pytest.mark.parametrize(
    "words", [["compare", "sleep 0.05", "sleep 30"], ["tune", "--axes", "", "-P", "t=0.05,30", "--", "sleep", "{t}"]]
)
def test_a_run_that_was_made_is_kept_where_nothing_can_be_reported_yet(tmp_path: Path, words: list[str]) -> None:
    process = _start(tmp_path, words[0], "--out", "x", "--budget", "90s", *words[1:])
    _until(_samples(tmp_path / "x", 1))
    before = (tmp_path / "x/samples.jsonl").read_bytes()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and b"--resume x" in error, error
    assert (tmp_path / "x/samples.jsonl").read_bytes().startswith(before)
    assert _run(tmp_path, "report", "x")[0] in (0, 2)


def test_an_end_before_anything_was_measured_says_so(tmp_path: Path) -> None:
    process = _start(tmp_path, "run", "--out", "x", "--", "sleep", "30")
    _until((tmp_path / "x/samples.jsonl").exists)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and b"interrupted: nothing was measured" in error
    assert not (tmp_path / "x").exists()


def test_who_reads_no_more_costs_nothing_but_the_rest_of_the_answer(tmp_path: Path) -> None:
    for words in (("run", "-r", "2"), ("compare", "--accept-disturbed", "--runs", "6"), ("run", "-r", "2", "--json")):
        out = tmp_path / "-".join(words)
        programs = ("--", "true") if words[0] == "run" else ("true", "true ")
        process = _start(tmp_path, *words, "--out", str(out), *programs)
        _until((out / "samples.jsonl").exists)
        process.stdout.close()  # type: ignore[union-attr]
        process.stdout = None
        _, error = process.communicate(timeout=60)
        assert process.returncode == 0 and b"nodewise report " in error, error
        assert (out / "report.html").exists() and (out / "verdict.json").exists()
    # and where nothing was measured
    process = _start(tmp_path, "knobs")
    process.stdout.close()  # type: ignore[union-attr]
    process.stdout = None
    assert process.communicate(timeout=60)[1] == b"" and process.returncode == 0


def test_a_directory_that_no_system_has_is_one_message(tmp_path: Path) -> None:
    assert _run(tmp_path, "run", "-r", "1", "--out", "x", "--", "true")[0] == 0
    question = json.loads((tmp_path / "x/question.json").read_text())
    (tmp_path / "x/question.json").write_text(json.dumps({**question, "cwd": "a\0b"}))
    code, _, error = _run(tmp_path, "run", "--resume", "x")
    assert code == 2 and "cannot be continued" in error and "damaged" in error


def test_an_interrupt_while_a_class_is_made_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Field:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(nodewise_command, "main", lambda **_: type("Made", (), {"field": Field()}))
    assert main([]) == ExitCode.INTERRUPTED
    monkeypatch.setattr(nodewise_command, "main", lambda **_: 1 / 0)
    assert main([]) == ExitCode.DEFECT


def test_an_end_between_answer_and_page_costs_the_page_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(folder: Path) -> Path:
        raise KeyboardInterrupt

    def full(folder: Path) -> Path:
        raise StoreError(f"cannot write {folder}: No space left", "free some")

    with pytest.raises(KeyboardInterrupt):
        hand_out(tmp_path, interrupted, lambda: print("answer"), None)
    answer = capsys.readouterr()
    assert answer.out == "answer\n" and f"nodewise report {tmp_path} writes it" in answer.err
    with pytest.raises(StoreError) as caught:
        hand_out(tmp_path, full, lambda: print("answer"), None)
    assert f"nodewise report {tmp_path}" in str(caught.value) and capsys.readouterr().out == "answer\n"
    with pytest.raises(StoreError):
        hand_out(tmp_path, full, lambda: None, lambda page: print(json.dumps({"report": page})))
    assert json.loads(capsys.readouterr().out) == {"report": None}


@pytest.mark.parametrize("as_json", [False, True])
def test_an_end_once_all_runs_are_made_waits_for_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    def answer(page: object = None) -> None:
        signal.raise_signal(signal.SIGTERM)
        print(json.dumps({"report": page}) if as_json else "answer")

    folder = tmp_path / "x"
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with ended_like_ctrl_c():
            with kept_in(folder, "run"), Writer(folder, tune_question()) as writer:
                _made(writer)
                writer.end_runs()
                signal.raise_signal(signal.SIGTERM)
            time.sleep(0.11)
            with pytest.raises(KeyboardInterrupt):
                hand_out(folder, lambda _: pytest.fail("no page"), answer, answer if as_json else None)
    finally:
        signal.signal(signal.SIGTERM, before)
    said = capsys.readouterr()
    assert said.out == ('{"report": null}\n' if as_json else "answer\n")
    assert f"before the page was written: nodewise report {folder} writes it" in said.err


@pytest.mark.parametrize(
    "words",
    [
        [*COMPARE, "true", "sleep 0.01"],
        ["run", "--accept-disturbed", "-r", "3", "--", "true"],
        ["tune", "--accept-disturbed", "--max-runs", "24", "--axes", "", "-P", "t=0.01,0.02", "--", "sleep", "{t}"],
        ["scale", "--accept-disturbed", "--counts", "1,2", "--budget", "3s", "--", "sleep", "0.0{threads}"],
        ["study", "is", "--class", "S", "--blocks", "1", "--accept-disturbed"],
    ],
    ids=lambda words: words[0],
)
def test_an_end_after_the_verdict_costs_the_page_only(tmp_path: Path, words: list[str]) -> None:
    words = [words[0], "--json", "--out", "x", *words[1:]]
    process = _start(tmp_path, *words)
    _until(lambda: (tmp_path / "x/verdict.json").exists() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=100)
    # where the signal came after the page, it has ended the interpreter's own end
    assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM, -signal.SIGINT), err.decode()
    assert json.loads(out)["kind"] == words[0]
    if process.returncode == 128 + signal.SIGTERM:
        assert json.loads(out)["report"] is None and b"nodewise report x writes it" in err


def _made(writer: Writer) -> None:
    setting = Setting(("true",))
    writer.add(Record(setting.key, "search", 0, 0, Sample(1.0, 1.0, 0.0)), setting)


def test_an_error_after_runs_were_made_says_where_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    with pytest.raises(StoreError) as caught, kept_in(folder, "tune"), Writer(folder, tune_question()) as writer:
        _made(writer)
        raise StoreError("no space", "free some")
    assert f"--resume {folder}" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "script", ["rm samples.jsonl; mkdir samples.jsonl", "echo x > question.json", "> samples.jsonl"]
)
def test_what_a_program_has_damaged_is_not_promised(tmp_path: Path, script: str) -> None:
    folder = tmp_path / "x"
    with pytest.raises(StoreError) as caught, kept_in(folder, "tune"), Writer(folder, tune_question()) as writer:
        _made(writer)
        subprocess.run(["sh", "-c", script], cwd=folder, check=True)
        raise StoreError("no space", "free some")
    assert caught.value.hint == "free some"


def test_samples_that_may_no_longer_be_written_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, *_: Any) -> int:
        raise PermissionError(1, "Operation not permitted")

    with Writer(tmp_path, tune_question()) as writer:
        _made(writer)
        with (
            monkeypatch.context() as patched,
            pytest.raises(StoreError, match=r"samples\.jsonl: Operation not permitted"),
        ):
            patched.setattr("os.write", refuse)
            patched.setattr("os.ftruncate", refuse)
            _made(writer)


def test_runs_of_another_process_are_not_reported_as_ones_own(tmp_path: Path) -> None:
    """Two were started with one --out before either had written anything."""
    (tmp_path / "samples.jsonl").write_text("{}\n")
    with (tmp_path / "samples.jsonl").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError) as caught, kept_in(tmp_path, "run"):
            Writer(tmp_path, {"kind": "run"})
    assert "another nodewise is writing" in caught.value.what and "kept" not in (caught.value.hint or "")
    assert (tmp_path / "samples.jsonl").read_text() == "{}\n"


def test_what_ignores_a_hangup_goes_on(tmp_path: Path) -> None:
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "nodewise"]
    words = ["run", "--out", "x", "-r", "4", "-w", "0", "--", "sleep", "0.2"]
    process = subprocess.Popen([*command, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _until(_samples(tmp_path / "x", 1))
    process.send_signal(signal.SIGHUP)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0 and b"report    x/report.html" in out, error


# --- no room


_NO_FILES = {"RLIMIT_FSIZE": (100, 100)}


def test_no_room_for_the_question_leaves_no_folder(tmp_path: Path) -> None:
    for words in (["run", "--", "true"], ["compare", "--out", "a/b", "true", "true"], ["tune", "--", "true"]):
        code, _, error = _run(tmp_path, *words, limits=_NO_FILES)
        assert code == 2 and error.startswith("error: cannot write "), error
        assert list(tmp_path.iterdir()) == []


_SMALL_FILES = {"RLIMIT_FSIZE": (400_000, 400_000)}


def test_a_page_that_finds_no_room_does_not_cost_the_answer(tmp_path: Path) -> None:
    code, said, error = _run(tmp_path, *COMPARE, "--out", "x", "true", "sleep 0.01", limits=_SMALL_FILES)
    assert code == 2 and "answer    " in said and "report" not in said
    assert "nodewise report x writes the page" in error
    code, said, _ = _run(tmp_path, *COMPARE, "--json", "--out", "y", "true", "sleep 0.01", limits=_SMALL_FILES)
    assert code == 2 and json.loads(said)["report"] is None
    assert _run(tmp_path, "report", "x")[0] == 0


def test_a_full_standard_output_is_one_message_at_once(tmp_path: Path) -> None:
    for words in (["tune", "--", "sleep", "9"], ["run", "--", "sleep", "9"], ["compare", "sleep 9", "sleep 8"]):
        begin = time.monotonic()
        with Path("/dev/full").open("wb") as full:
            code, _, error = _run(tmp_path, *words, stdout=full)
        assert code == 2 and error.startswith("error: cannot write to standard output") and "Traceback" not in error
        assert time.monotonic() - begin < 9
    for words in (["machine"], ["--help"], ["place", "compact", "--threads", "1"]):
        with Path("/dev/full").open("wb") as full:
            code, _, error = _run(tmp_path, *words, stdout=full)
        assert code == 2 and error.count("error: ") == 1 and "Traceback" not in error


def test_too_few_files_are_one_message(tmp_path: Path) -> None:
    code, _, error = _run(
        tmp_path, "run", "--", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
    )
    assert code == 2 and "only 8 files" in error and "ulimit -n" in error


def test_little_memory_is_enough_or_one_message(tmp_path: Path) -> None:
    def told(mebibytes: int, *words: str, limit: int = resource.RLIMIT_AS) -> tuple[int, str, str]:
        least = (mebibytes << 20,) * 2
        return _run(tmp_path, *words, preexec_fn=lambda: resource.setrlimit(limit, least))

    code, _, error = told(60, "run", "--", "true")
    assert code == 2 and "only 60 MiB of address space" in error and "ulimit -v" in error
    for mebibytes in (20, 60):
        code, out, error = told(mebibytes, "run", "--", "true", limit=resource.RLIMIT_DATA)
        assert (
            code == 2 and error.startswith(f"error: only {mebibytes} MiB of memory for data") and "ulimit -d" in error
        )
    code, out, error = told(400, "run", "-r", "1", "-w", "0", "--out", "x", "--", "true")
    assert code == 0 and "report" in out, error
    assert told(400, "report", "x")[0] == 0


def test_a_limit_of_sizes_that_stops_even_messages_is_no_defect(tmp_path: Path) -> None:
    (tmp_path / "nodewise.toml").write_text('[command.nothing]\nrun = "true"\n')
    with (tmp_path / "said").open("wb") as said:
        process = _start(
            tmp_path,
            *("suite", "run", "--out", "x"),
            stderr=said,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        )
        process.communicate(timeout=100)
    assert process.returncode == 2


def test_too_few_processes_are_one_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real, threads = resource.getrlimit, []

    def start(thread: object) -> None:
        threads.append(thread)
        raise RuntimeError("can't start new thread")

    # root has no such limit
    monkeypatch.setattr(resource, "getrlimit", lambda of: (3, 3) if of == resource.RLIMIT_NPROC else real(of))
    monkeypatch.setattr("threading.Thread.start", start)
    assert main(["run", "--", "true"]) == 2 and len(threads) == 1
    assert "no more than 3 processes" in (said := capsys.readouterr().err) and "ulimit -u" in said


def test_memory_that_is_not_there_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(**_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(nodewise_command, "main", ask)
    assert main([]) == ExitCode.BAD_INPUT


def test_a_removed_directory_is_one_message(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code, _, error = _run(gone, "run", "--", "true", preexec_fn=gone.rmdir)
    assert code == 2 and error.startswith("error: the current directory cannot be used")


def test_an_experiment_taken_away_while_it_runs_ends_at_once(tmp_path: Path) -> None:
    process = _start(tmp_path, "compare", "--budget", "60s", "--out", "x", "sleep 0.1", "sleep 0.1")
    _until(_samples(tmp_path / "x", 2))
    begin = time.monotonic()
    shutil.rmtree(tmp_path / "x")
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2 and b"was taken away while it was being written" in error
    assert time.monotonic() - begin < 30


# --- many at once


def test_many_starts_in_one_second_have_a_folder_each(tmp_path: Path) -> None:
    runs = [_start(tmp_path, "run", "-r", "2", "-w", "0", "--json", "--", "sleep", "0.3") for _ in range(4)]
    answers = [json.loads(process.communicate(timeout=100)[0]) for process in runs]
    assert [process.returncode for process in runs] == [0] * 4
    assert len({one["experiment"] for one in answers}) == 4
    assert len(list((tmp_path / "nodewise-experiments").iterdir())) == 4


def test_a_question_that_cannot_be_asked_leaves_no_folder(tmp_path: Path) -> None:
    for words in (["run", "--", "./nothing"], ["compare", "true", "--within", "5"], ["tune", "--", "./nothing"]):
        assert _run(tmp_path, *words)[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_two_at_once_say_so_and_wait_waits(tmp_path: Path) -> None:
    until_go = ("sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    first = _start(tmp_path, "run", "--out", "one", "-r", "1", "-w", "0", "--json", "--", *until_go)
    _until((tmp_path / "one/samples.jsonl").exists)
    second = _run(tmp_path, "run", "--out", "two", "-r", "2", "--json", "--", "true")
    waiting = _start(tmp_path, "run", "--wait", "--out", "three", "-r", "2", "--json", "--", "true")
    assert waiting.stderr is not None
    said = waiting.stderr.readline().decode()
    (tmp_path / "go").touch()
    third = [text.decode() for text in waiting.communicate(timeout=100)]
    answer = json.loads(first.communicate(timeout=100)[0])
    assert any(f"process {first.pid})" in note for note in json.loads(second[1])["notes"])
    assert any(str(tmp_path / "two") in note for note in answer["notes"])
    assert said.startswith("waiting for ")
    assert not any(str(tmp_path) in note for note in json.loads(third[0])["notes"])


# --- what is not there


@pytest.mark.parametrize(
    "closed", [">&-", "<&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.long) for one in ("<&-", "2>&-"))]
)
def test_closed_standard_streams_change_nothing_but_what_is_seen(tmp_path: Path, closed: str) -> None:
    script = f'"$0" -m nodewise run --out x -r 1 -- sh -c "echo good > reached" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reached").read_text() == "good\n" and (tmp_path / "x/report.html").stat().st_size > 100_000
    assert "report    x/report.html" in done.stdout or ">&- 2>&-" in closed or closed == ">&-"


@pytest.mark.parametrize("name", ["n" * 300, "loop", "file/x"])
def test_names_that_the_system_refuses_are_one_message(nodewise: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    for words in (["report"], ["confirm"], ["tune", "--resume"], ["run", "--cwd", name, "--"], ["machine", "--save"]):
        done = nodewise(*words, name)
        assert done.returncode == 2 and done.stderr.startswith("error: ") and "defect" not in done.stderr, done.stderr


def test_a_zero_byte_a_link_in_a_circle_and_a_pipe_that_nobody_writes_are_one_message(
    nodewise_here: Command, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "a.c").write_text("void f(int* a) { for (int i = 0; i < 99; ++i) a[i]++; }\n")
    asked = [["report", "a\0b"], ["study", "loop"], ["vec", "loop"], ["vec", "--commands", "fifo", "a.c"]]
    asked.append(["vec", "--causes", "/dev/full", "a.c"])
    for words in [*asked, ["confirm", "loop"], ["report", "loop"], ["tune", "--resume", "loop"]]:
        done = nodewise_here(*words)
        assert done.returncode == 2 and done.stderr.startswith("error: "), (words, done.stderr)
        assert "defect" not in done.stderr


def test_a_number_of_thousands_of_digits_is_bad_input(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    done = nodewise("vec", "--lines", "1" * 5000, "x.c")
    assert done.returncode == 2 and "holds a number of more than 4300 digits" in done.stderr
