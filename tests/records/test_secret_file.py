# SPDX-License-Identifier: BSD-3-Clause
"""The file of secrets: its owner's alone at every moment, and all that going on needs."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, StoreError
from nodewise.records.columns import Record
from nodewise.records.experiment import Writer, read_experiment, read_question
from nodewise.records.sample_lines import Plan
from nodewise.records.secret_file import SECRETS, Revealed, write_secrets
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.questions import compare_question, tune_question

SECRET = "hunter2-Zq9"
QUESTION = tune_question(command=["./app", "--password", SECRET, "{p}"], asked=["nodewise", "tune", "--", "./app"])
SETTING = Setting(("./app", "--password", SECRET, "x"), {"p": "x"}, {"DB_TOKEN": SECRET})
OTHER = Setting(("./app", "--password", SECRET, "y"), {"p": f"y {SECRET}", "token": "ab"})


@contextmanager
def _mask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def _record(setting: Setting, text: str = "") -> Record:
    return Record(setting.key, "search", 1, 0, Sample(1.0, 1.0, 1.0, error="exit code 3", output=text))


def _write(folder: Path) -> None:
    with Writer(folder, QUESTION) as writer:
        writer.add(_record(SETTING, f"wrong password: {SECRET}"), SETTING)
        writer.add_plan(Plan(OTHER.key, (6,), 0.05, {"p": SETTING.key}))
        writer.add(_record(OTHER), OTHER)
        writer.keep_reference(f"{SECRET} <masked:X>")
        writer.add_difference(0, f"line 1: {SECRET}")
        writer.store_result({"sentence": SECRET})


def test_nothing_but_that_file_holds_the_secret_and_no_one_else_may_read_it(tmp_path: Path) -> None:
    with _mask(0):
        _write(tmp_path / "e")
    files = {p.name: p.read_bytes() for p in (tmp_path / "e").rglob("*") if p.is_file()}
    assert [name for name, data in files.items() if SECRET.encode() in data] == [SECRETS]
    assert stat.S_IMODE((tmp_path / "e" / SECRETS).stat().st_mode) == 0o600
    assert b'"ab"' not in files["samples.jsonl"]


@pytest.mark.parametrize("mask", [0o077, 0o022, 0o002])
def test_other_files_follow_the_umask(tmp_path: Path, mask: int) -> None:
    with _mask(mask):
        _write(tmp_path / "e")
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "e").iterdir() if p.is_file()}
    assert modes.pop(SECRETS) == 0o600
    assert {"question.json", "samples.jsonl"} <= set(modes)
    assert set(modes.values()) == {0o666 & ~mask}


def test_it_is_never_open_to_others_not_even_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []
    opened = os.open

    def watched(path: object, flags: int, mode: int = 0o777, **more: object) -> int:
        file = opened(path, flags, mode, **more)  # type: ignore[call-overload]
        if SECRETS in str(path):
            modes.append(stat.S_IMODE(os.fstat(file).st_mode))
        return int(file)

    monkeypatch.setattr(os, "open", watched)
    with _mask(0):
        write_secrets(tmp_path, {"A": ["b"]})
    assert modes == [0o600]


def test_what_a_killed_one_left_and_any_mask_are_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / f".{SECRETS}.{os.getpid()}.part").write_text("half")
    with _mask(0o777):
        write_secrets(tmp_path, {"TOKEN": ["x"]})
    assert stat.S_IMODE((tmp_path / SECRETS).stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == [SECRETS]


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / SECRETS).symlink_to(tmp_path / "elsewhere")
    write_secrets(tmp_path, {"A": ["b"]})
    assert (tmp_path / "elsewhere").read_text() == "theirs" and not (tmp_path / SECRETS).is_symlink()


def test_without_secrets_there_is_no_such_file(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", tune_question()) as writer:
        writer.add(_record(Setting(("a",))), Setting(("a",)))
    assert not (tmp_path / "e" / SECRETS).exists()


def test_who_goes_on_has_all_as_it_was(tmp_path: Path) -> None:
    _write(tmp_path / "e")
    with Writer(tmp_path / "e", None) as writer:
        earlier = writer.earlier
        assert earlier is not None
        assert earlier.settings == {SETTING.key: SETTING, OTHER.key: OTHER}
        assert [r.setting for r in earlier.records] == [SETTING.key, OTHER.key]
        assert earlier.plans == [Plan(OTHER.key, (6,), 0.05, {"p": SETTING.key})]
        assert earlier.question["command"] == QUESTION["command"]
        writer.add(_record(OTHER), OTHER)
    back = read_experiment(tmp_path / "e")
    # one setting is one, before and after
    assert len(back.settings) == 2 and len(set(back.records.keys)) == 2
    assert [plan.candidate in back.settings for plan in back.plans] == [True]


def test_names_of_commands_are_those_of_their_settings(tmp_path: Path) -> None:
    names = (f"./a --password {SECRET}", "./a --password b")
    settings = [Setting(("./a", "--password", n[-1]), name=n) for n in names]
    with Writer(tmp_path / "e", compare_question(*names)) as writer:
        for one in settings:
            writer.add(_record(one), one)
    back = read_experiment(tmp_path / "e")
    assert [c["name"] for c in back.question["contenders"]] == list(back.settings)
    assert len(back.settings) == 2


def test_without_the_file_one_can_look_but_not_go_on(tmp_path: Path) -> None:
    _write(tmp_path / "e")
    (tmp_path / "e" / SECRETS).unlink()
    assert len(read_experiment(tmp_path / "e").records) == 2
    with pytest.raises(InputError, match="what is masked in"):
        read_question(tmp_path / "e", Revealed(tmp_path / "e"))


@pytest.mark.parametrize("text", ["{", "[]", '{"nodewise_secrets": 1, "values": {"A": "b"}}', '{"values": {}}'])
def test_a_damaged_one_is_said(tmp_path: Path, text: str) -> None:
    _write(tmp_path / "e")
    (tmp_path / "e" / SECRETS).write_text(text)
    with pytest.raises(InputError, match="is damaged"):
        Revealed(tmp_path / "e")


def test_an_experiment_that_is_given_up_leaves_none(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION) as writer:
        writer.discard()
    assert not (tmp_path / "e").exists()


def test_what_is_kept_is_readable_json(tmp_path: Path) -> None:
    _write(tmp_path / "e")
    assert json.loads((tmp_path / "e" / SECRETS).read_text())["values"]["PASSWORD"] == [SECRET]


def test_a_secret_is_kept_before_the_first_line_that_needs_it(tmp_path: Path) -> None:
    """A kill between the two loses a run at most, and never what a mask stands for."""
    folder = tmp_path / "e"
    with Writer(folder, tune_question()) as writer:
        assert not (folder / SECRETS).exists()
        (folder / SECRETS).mkdir()
        with pytest.raises(StoreError):
            writer.add(_record(SETTING, f"wrong password: {SECRET}"), SETTING)
        assert (folder / "samples.jsonl").read_text() == ""
        (folder / SECRETS).rmdir()
        writer.add(_record(SETTING, f"wrong password: {SECRET}"), SETTING)
        assert SECRET in (folder / SECRETS).read_text()


def test_a_questions_secrets_are_kept_before_the_first_run(tmp_path: Path) -> None:
    with Writer(tmp_path / "e", QUESTION):
        assert SECRET in (tmp_path / "e" / SECRETS).read_text()
