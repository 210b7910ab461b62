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
from nodewise.records.experiment import Experiment, Writer, is_measured, is_own, read_experiment
from nodewise.records.inherited import inherited_facts
from nodewise.records.sample_lines import Neighbour, Plan
from nodewise.records.secret_file import Revealed
from nodewise.runner.marks import UNREAD
from nodewise.runner.objective import Objective, Shown
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import compare_question, tune_question
from tests.surfaces import machine

SETTING = Setting(("a", "b c"), {"threads": 2}, {"OMP_NUM_THREADS": "2"}, ("KMP_AFFINITY",), (0, 1), ((0,), (1,)))

QUESTION = tune_question()


def _record(n: int) -> Record:
    sample = Sample(seconds=n + 1.5, wall_s=2.0, started_at=float(n), usage={"user_s": 1.0}, marks=("steal 3%",))
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


def test_of_a_run_what_was_disturbed_counts_for_nothing_and_warm_ups_are_no_runs(tmp_path: Path) -> None:
    """Where most were disturbed there is nothing else: whether they are most is of the runs themselves."""

    def counted(disturbed: int, warm_ups: int = 0) -> int:
        folder = tmp_path / f"{disturbed} {warm_ups}"
        with Writer(folder, {**compare_question("a"), "kind": "run"}) as writer:
            for n in range(10 + warm_ups):
                warm = n >= 10
                marks = ("other load: it waited",) if n < disturbed else ()
                phase = "warm-up" if warm else "compare"
                writer.add(Record(SETTING.key, phase, n, 0, Sample(1.0, 1.0, float(n), marks=marks)), SETTING)
        return int(read_experiment(folder).counted[:10].sum())

    assert [counted(n) for n in (0, 3, 5, 6, 10)] == [10, 7, 5, 10, 10]
    # the others are no reason to do without these
    assert counted(6, warm_ups=10) == 10


def test_a_question_that_is_amended_is_laid_out_as_any_json(tmp_path: Path) -> None:
    """Also what stands in it as before, which is not spelled again."""
    with Writer(tmp_path / "e", QUESTION) as writer:
        for more in ({"knobs": {}}, {"knobs": {"a": ["b\n", 1.5, None]}, "loaded": True}):
            writer.amend(more)
            text = (tmp_path / "e/question.json").read_text()
            told = json.loads(text)
            assert text == json.dumps(told, indent=1) and told["knobs"] == more["knobs"]
            assert told["machine"] == json.loads(json.dumps(QUESTION["machine"]))


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
sys.dont_write_bytecode = True
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

    with Writer(tmp_path / "e", QUESTION) as writer, monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", asked_again)
        writer.discard()
    assert not (tmp_path / "e").exists()


def test_three_experiments_that_ran_meanwhile_are_named_and_further_ones_counted(tmp_path: Path) -> None:
    others = [Neighbour(n, "me", "run", str(tmp_path / str(n))) for n in range(5)]
    for n in range(4):
        (tmp_path / str(n)).mkdir()
    read = Experiment(tmp_path, QUESTION)
    cases = (
        (1, "another experiment ran on this machine meanwhile: nodewise run of me (process 0), kept in ", "/0"),
        (3, "3 other experiments ran on this machine meanwhile: nodewise run of me (process 0)", "/2"),
        (
            5,
            "5 other experiments ran on this machine meanwhile: nodewise run of me (process 0)",
            "/2; 2 more",
        ),
    )
    for count, first, last in cases:
        read.neighbours = others[:count]
        (remark,) = read.remarks
        assert remark.startswith(first) and remark.endswith(last)
    # one that ended with an error has left nothing
    assert str(others[4]) == "nodewise run of me (process 4)"


def test_what_is_left_open_in_a_question_is_seconds_and_nothing_besides(tmp_path: Path) -> None:
    assert Experiment(tmp_path, {}).objective == Objective("seconds", maximise=False)
    assert Experiment(tmp_path, {"objective": {"metric": "joules"}}).objective == Objective("joules", maximise=False)
    assert Experiment(tmp_path, {"objective": {"metric": "rate", "maximise": True}}).objective == Objective(
        "rate", True
    )
    assert Experiment(tmp_path, {}).shown == Shown((), "")
    shown = {"metrics": [{"metric": "rate", "maximise": True}], "currency": "EUR"}
    assert Experiment(tmp_path, {"shown": shown}).shown == Shown((Objective("rate", True),), "EUR")


def test_reports_that_were_not_read_are_one_note(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        for n, marks in enumerate([("steal 3%",), (f"{UNREAD}: one",), (), (f"{UNREAD}: two", "steal 1%")]):
            sample = Sample(seconds=1.0, wall_s=1.0, started_at=float(n), marks=marks)
            writer.add(Record(SETTING.key, "search", n, 0, sample), SETTING)
    assert read_experiment(tmp_path / "e").remarks == [f"{UNREAD}: one (2 of 4 runs)"]


def test_whose_experiment_it_is_and_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "e"
    assert not is_own(path) and not is_measured(path)
    with Writer(path, QUESTION) as writer:
        assert is_own(path) and not is_measured(path)
        writer.end_runs()
        assert is_measured(path)
    # who goes on with it has not measured it yet
    with Writer(path, None):
        assert not is_measured(path)


def test_a_file_taken_away_while_it_is_written_is_said(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        writer.add(_record(0), SETTING)
        samples = tmp_path / "e/samples.jsonl"
        samples.rename(tmp_path / "moved")
        with pytest.raises(StoreError, match="was taken away"):
            writer.add(_record(1), SETTING)
        # another file of the same name is not ours either
        samples.write_text("")
        with pytest.raises(StoreError, match="was taken away"):
            writer.add(_record(1), SETTING)
        assert samples.read_text() == ""


def test_a_file_cut_off_while_it_is_written_is_said(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        writer.add(_record(0), SETTING)
        (tmp_path / "e/samples.jsonl").write_text("")
        with pytest.raises(StoreError, match="was cut off while it was being written"):
            writer.add(_record(1), SETTING)


def test_what_others_write_into_it_costs_no_run_of_its_own(tmp_path: Path) -> None:
    samples = tmp_path / "e/samples.jsonl"
    with Writer(tmp_path / "e", QUESTION) as writer:
        writer.add(_record(0), SETTING)
        with samples.open("a") as others:
            others.write("nonsense without an end")
        writer.add(_record(1), SETTING)
        writer.add(_record(2), SETTING)
    back = read_experiment(tmp_path / "e")
    assert back.records == [_record(0), _record(1), _record(2)] and back.damaged_lines == 1


def test_runs_that_are_written_twice_count_once_and_are_named(tmp_path: Path) -> None:
    samples = tmp_path / "e/samples.jsonl"
    with Writer(tmp_path / "e", QUESTION) as writer:
        for n in range(3):
            writer.add(_record(n), SETTING)
    lines = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join([*lines, *lines[1:3], lines[0]]))
    back = read_experiment(tmp_path / "e")
    assert back.records == [_record(0), _record(1), _record(2)]
    assert "2 damaged lines were skipped: line 5: it is a repetition of one before it" in back.damage[0]
    # of two runs that began at one moment, as where a clock was set back, both count
    also = json.loads(lines[3]) | {"block": 9}
    samples.write_text("".join([*lines, json.dumps(also) + "\n", json.dumps(also) + "\n"]))
    back = read_experiment(tmp_path / "e")
    assert [r.block for r in back.records] == [0, 1, 2, 9] and back.damaged_lines == 1


def test_a_question_that_is_taken_away_meanwhile_is_written_again(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        writer.add(_record(0), SETTING)
        (tmp_path / "e/question.json").unlink()
        writer.add(_record(1), SETTING)
    assert len(read_experiment(tmp_path / "e").records) == 2


def test_a_kill_in_the_first_line_leaves_the_next_one_whole(tmp_path: Path) -> None:
    """Also where the last line is whole but for its end."""
    path = tmp_path / "e"
    with Writer(path, QUESTION) as writer:
        writer.add(_record(0), SETTING)
    samples = path / "samples.jsonl"
    samples.write_bytes(samples.read_bytes().rstrip(b"\n"))
    with Writer(path, None) as writer:
        writer.add(_record(1), SETTING)
    back = read_experiment(path)
    assert back.records == [_record(0), _record(1)] and back.damaged_lines == 0
    assert samples.read_bytes().count(SETTING.key.encode()) == 3


def test_a_setting_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "e"
    with Writer(path, QUESTION) as writer:
        assert not writer.measured
        writer.know(SETTING)
        writer.know(SETTING)
        assert not writer.measured
        writer.add(_record(0), SETTING)
        writer.add(_record(1), SETTING)
        assert writer.measured
    with Writer(path, None) as writer:
        writer.know(SETTING)
        assert not writer.measured
    assert len((path / "samples.jsonl").read_text().splitlines()) == 3


def test_nothing_of_what_was_made_for_it_is_left_behind(tmp_path: Path) -> None:
    with Writer(tmp_path / "of/e", QUESTION) as writer:
        for name in ("builds", "launch", "calls"):
            (tmp_path / "of/e" / name).mkdir()
            (tmp_path / "of/e" / name / "file").write_text("")
        writer.keep_reference("42")
        writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_later_schema_names_itself_and_another_folder_does_not(tmp_path: Path) -> None:
    (tmp_path / "question.json").write_text('{"nodewise_experiment": 99}')
    with pytest.raises(InputError, match="has schema 99, this nodewise reads 1"):
        read_experiment(tmp_path)
    (tmp_path / "question.json").write_text("{}")
    with pytest.raises(InputError, match=r"is damaged: .*nodewise_experiment"):
        read_experiment(tmp_path)
    with pytest.raises(InputError, match="no such directory"):
        read_experiment(tmp_path / "none")
    file = tmp_path / "question.json"
    for through in (None, Revealed(file)):
        with pytest.raises(InputError, match=r"question\.json is a file"):
            read_experiment(file, through=through)
    with pytest.raises(InputError, match=r"no question\.json"):
        Writer(tmp_path / "none", None)


def test_a_verdict_that_is_no_object_is_none(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        writer.add(_record(0), SETTING)
    for text in ("[1]", "{", "null"):
        (tmp_path / "e/verdict.json").write_text(text)
        assert read_experiment(tmp_path / "e").verdict is None
    (tmp_path / "e/verdict.json").write_text('{"ratio": 2}')
    assert read_experiment(tmp_path / "e").verdict == {"ratio": 2}


def test_what_a_question_keeps_of_the_environment_bears_on_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    facts = inherited_facts(machine(2, 1), {"OMP_NUM_THREADS": "2", "EDITOR": "vi", "HOME": "/h"}, ("nodewise", "run"))
    assert facts["environment"] == {"OMP_NUM_THREADS": "2"} and facts["home"] == "/h"
    assert facts["asked"] == ["nodewise", "run"] and facts["cwd"] == str(tmp_path) and facts["commit"] is None
    assert inherited_facts(machine(2, 1), {}, ())["home"] == ""


def test_who_may_not_overwrite_is_told_three_ways_on(tmp_path: Path) -> None:
    path = tmp_path / "e"
    with Writer(path, QUESTION) as writer:
        writer.add(_record(0), SETTING)
    with pytest.raises(InputError) as caught:
        Writer(path, QUESTION)
    assert f"--resume {path}" in str(caught.value.hint) and "--out" in str(caught.value.hint)
    assert read_experiment(path).records == [_record(0)]


def test_a_line_that_is_gone_is_missed_also_among_those_of_a_continuation(tmp_path: Path) -> None:
    for numbers, question in ((range(3), QUESTION), (range(3, 5), None)):
        with Writer(tmp_path / "e", question) as writer:
            for n in numbers:
                writer.add(_record(n), SETTING)
    samples = tmp_path / "e/samples.jsonl"
    lines = samples.read_bytes().splitlines(keepends=True)
    assert not read_experiment(tmp_path / "e").damage
    samples.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    assert read_experiment(tmp_path / "e").damage == [
        "samples.jsonl: the line of 1 run is missing: what is said is without them"
    ]
