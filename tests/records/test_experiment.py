# SPDX-License-Identifier: BSD-3-Clause
"""The experiment's directory: append-only, one writer, safe against kills and full disks."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError, StoreError
from nodewise.records import experiment
from nodewise.records.columns import Record
from nodewise.records.experiment import Writer, read_experiment
from nodewise.records.sample_lines import Plan
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import tune_question

SETTING = Setting(("a", "b c"), {"threads": 2}, {"OMP_NUM_THREADS": "2"}, ("KMP_AFFINITY",), (0, 1), ((0,), (1,)))

QUESTION = tune_question()


def _record(n: int) -> Record:
    sample = Sample(seconds=n + 1.5, wall_s=2.0, started_at=float(n), usage={"user_s": 1.0}, marks=("steal 3 %",))
    return Record(SETTING.key, "search", n, 0, sample)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        for n in range(3):
            writer.add(_record(n), SETTING)
        writer.add_plan(Plan(SETTING.key, (6, 12), 0.05, {"threads": SETTING.key}))
        writer.conclude({"ratio": 1.5})
    back = read_experiment(tmp_path / "e")
    assert back.records == [_record(n) for n in range(3)]
    assert back.settings == {SETTING.key: SETTING}
    assert back.plans == [Plan(SETTING.key, (6, 12), 0.05, {"threads": SETTING.key})]
    assert back.verdict == {"ratio": 1.5}
    assert back.damaged_lines == 0


@pytest.mark.parametrize("where", ["make_directory", "write_within"])
def test_being_asked_to_end_while_it_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Not even where it comes between the folder and the question."""
    make = getattr(experiment, where)

    def asked(*arguments: Any) -> Any:
        made = make(*arguments)
        signal.raise_signal(signal.SIGINT)
        return made

    monkeypatch.setattr(experiment, where, asked)
    with pytest.raises(KeyboardInterrupt):
        Writer(tmp_path / "of/e", QUESTION)
    assert not (tmp_path / "of").exists()
    monkeypatch.undo()
    Writer(tmp_path / "of/e", QUESTION).close()


def test_a_line_cut_off_by_a_kill_costs_that_line_only(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        for n in range(4):
            writer.add(_record(n), SETTING)
    samples = tmp_path / "e/samples.jsonl"
    whole = samples.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in (1, 10, last - 1):
        samples.write_bytes(whole[:-cut])
        back = read_experiment(tmp_path / "e")
        # without only its line feed the record is whole
        assert len(back.records) == (4 if cut == 1 else 3)
        assert back.damaged_lines == (0 if cut == 1 else 1)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION), pytest.raises(InputError, match="another nodewise"):
        Writer(tmp_path / "e", QUESTION)


def test_an_experiment_is_never_overwritten(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        writer.add(_record(0), SETTING)
    with pytest.raises(InputError, match="holds an experiment already"):
        Writer(tmp_path / "e", QUESTION)
    assert len(read_experiment(tmp_path / "e").records) == 1


def test_a_path_that_is_a_file_is_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write") as caught:
        Writer(tmp_path / "file" / "e", QUESTION)
    assert "--out" in (caught.value.hint or "")


_FILL = """
import json, resource, signal, sys
from pathlib import Path
from nodewise.records.experiment import Writer
from nodewise.records import experiment
from nodewise.records.columns import Record
from nodewise.base.errors import StoreError
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Writer(Path(sys.argv[1]), json.loads(sys.argv[2])) as writer:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    for n in range(1000):
        try:
            writer.add(Record("baseline", "search", n, 0, Sample(1.0, 1.0, 0.0)), Setting(("a",)))
        except StoreError as problem:
            print(n, problem)
            break
"""


def test_when_the_disk_is_full_what_was_written_stays_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(tmp_path / "e"), json.dumps(QUESTION)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, _, message = done.stdout.partition(" ")
    assert "cannot write" in message and "hint" in message
    back = read_experiment(tmp_path / "e")
    assert len(back.records) == int(count) > 3
    assert back.damaged_lines == 0


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"nodewise_experiment": 99}'])
def test_a_directory_that_is_no_experiment_is_one_clear_message(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "question.json").write_text(content)
    with pytest.raises(InputError) as caught:
        read_experiment(tmp_path)
    assert caught.value.hint


def test_a_directory_in_which_nothing_was_measured_can_be_taken_back(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/mine").write_text("")
    for name in ("new", "kept"):
        with Writer(tmp_path / name, QUESTION) as writer:
            writer.discard()
    assert not (tmp_path / "new").exists()
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["mine"]


def test_with_a_line_lost_no_run_is_said_to_have_another_result(tmp_path: Path) -> None:
    """A late difference names its sample by number, and with a line lost nobody knows which one that is."""
    with Writer(tmp_path / "e", QUESTION) as writer:
        for n in range(3):
            writer.add(_record(n), SETTING)
        writer.add_difference(1, "2.5 against 1.5")
    samples = tmp_path / "e/samples.jsonl"
    whole = samples.read_bytes()
    assert [bool(r.sample.differs) for r in read_experiment(tmp_path / "e").records] == [False, True, False]
    lines = whole.splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if b'"sample"' in line)
    samples.write_bytes(b"".join([*lines[:first], b"{ torn\n", *lines[first + 1 :]]))
    back = read_experiment(tmp_path / "e")
    assert back.damaged_lines == 1 and not any(r.sample.differs for r in back.records)


def test_what_is_taken_back_is_taken_back_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # asked to end once more after the first file has gone
    unlink = Path.unlink

    def asked_again(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        signal.raise_signal(signal.SIGINT)

    with Writer(tmp_path / "e", QUESTION) as writer:
        monkeypatch.setattr(Path, "unlink", asked_again)
        writer.discard()
    assert not (tmp_path / "e").exists()
