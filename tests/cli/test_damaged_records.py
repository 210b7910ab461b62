# SPDX-License-Identifier: BSD-3-Clause
"""Stored experiments with one thing changed, as a disk, an editor or another version may leave them: each is a message or is
read as far as it goes, and never a defect. With NODEWISE_EXPLORE=1 all changes are tried, else a seeded choice."""

import contextlib
import copy
import io
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodewise.cli.main import INTERNAL, main

WRONG = [None, True, -1, 10**400, 1e308, 1e-308, "x", "", [], {}, [[]], {"a": 1}, "\udcff", float("nan"), 1 << 40]
KINDS = {
    "run": ["-r", "3", "--", "sleep", "0.001"],
    "compare": ["--accept-disturbed", "-M", "8", "sleep 0.02", "sleep 0.001"],
    "tune": ["--accept-disturbed", "--max-runs", "24", "-P", "t=0.02,0.001", "--axes", "", "--", "sleep", "{t}"],
}
CHOSEN = 10**9 if os.environ.get("NODEWISE_EXPLORE") else 70


def _nodewise(*words: str) -> tuple[int, str]:
    """The exit code, and what was said on standard error; directory and environment are as before."""
    here, environment, typed = Path.cwd(), dict(os.environ), sys.argv
    said = io.StringIO()
    sys.argv = ["nodewise", *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            return main(list(words)), said.getvalue()
    finally:
        sys.argv = typed
        os.chdir(here)
        os.environ.clear()
        os.environ.update(environment)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small experiment of each kind."""
    folder = tmp_path_factory.mktemp("stored")
    for kind, words in KINDS.items():
        code, said = _nodewise(kind, "--budget", "5s", "--out", str(folder / kind), *words)
        assert code == 0, said
    code, said = _nodewise("confirm", "--budget", "0.3s", "--out", str(folder / "confirm"), str(folder / "compare"))
    assert code in (0, 1), said
    return {kind: folder / kind for kind in (*KINDS, "confirm")}


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for name, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield (*at, name)
        yield from _places(inner, (*at, name))


def _with(value: Any, place: tuple[Any, ...], new: Any, drop: bool = False) -> str:
    value = copy.deepcopy(value)
    inner = value
    for name in place[:-1]:
        inner = inner[name]
    if drop:
        del inner[place[-1]]
    else:
        inner[place[-1]] = new
    sys.set_int_max_str_digits(0)
    return json.dumps(value)


def _fields(text: str) -> list[str]:
    """A record with each of its fields gone, and of each wrong type; of the parts of a list one stands for all."""
    value = json.loads(text)
    alike: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for place in _places(value):
        alike.setdefault(tuple("" if isinstance(name, int) else name for name in place), place)
    return [
        changed
        for place in alike.values()
        for changed in (_with(value, place, None, drop=True), *(_with(value, place, wrong) for wrong in WRONG))
    ]


def _damages(folder: Path) -> list[tuple[str, bytes]]:
    """Each file with one thing changed."""
    made = []
    question = (folder / "question.json").read_text()
    made += [("question.json", text.encode()) for text in _fields(question)]
    made += [("question.json", question[:n].encode()) for n in (0, 1, len(question) // 2, len(question) - 2)]
    made += [("question.json", text) for text in (b"[" * 100_000, b'{"a":' * 300 + b"1" + b"}" * 300, b"\xff{}")]
    lines = (folder / "samples.jsonl").read_bytes().splitlines(keepends=True)
    kinds = set()
    for i, line in enumerate(lines):
        others: list[bytes] = [b"", line * 2, line[: len(line) // 2] + b"\n", b"[" * 100_000 + b"\n", b"null\n"]
        kind = json.loads(line)["type"]
        if kind not in kinds:
            kinds.add(kind)
            others += [text.encode() + b"\n" for text in _fields(line.decode())]
        made += [("samples.jsonl", b"".join([*lines[:i], other, *lines[i + 1 :]])) for other in others]
    made += [("samples.jsonl", b"".join(lines)[:-5]), ("samples.jsonl", b"")]
    return made


@pytest.mark.parametrize("kind", ["run", "compare", "tune", "confirm"])
def test_one_thing_changed_is_no_defect(stored: dict[str, Path], kind: str, tmp_path: Path) -> None:
    random_ = random.Random(1)
    damages = _damages(stored[kind])
    chosen = damages if len(damages) <= CHOSEN else random_.sample(damages, CHOSEN)
    for number, (name, content) in enumerate(chosen):
        folder = tmp_path / str(number)
        shutil.copytree(stored[kind], folder, ignore=shutil.ignore_patterns("report.html"))
        (folder / name).write_bytes(content)
        commands = [["report", "--json", "--csv", str(folder / "table.csv"), str(folder)]]
        if number % 10 == 0:
            commands.append(["report", str(folder)])
        if number % 10 == 5 and kind in ("compare", "tune"):
            commands.append(["confirm", "--max-runs", "6", "--budget", "0.1s", "--out", f"{folder}-c", str(folder)])
        if number % 10 == 8 and kind != "confirm":
            commands.append([kind, "--resume", str(folder)])
        for words in commands:
            code, said = _nodewise(*words)
            assert code in (0, 1, 2), (words, name, content[:2000], said)
            assert code != INTERNAL


def test_what_is_damaged_is_named_and_the_rest_is_used(stored: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "x"
    shutil.copytree(stored["compare"], folder)
    lines = (folder / "samples.jsonl").read_text().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if json.loads(line)["type"] == "sample"][4]
    broken = json.loads(lines[at])
    broken["seconds"] = "fast"
    lines[at] = json.dumps(broken) + "\n"
    (folder / "samples.jsonl").write_text("".join(lines))
    assert _nodewise("report", "--html", str(tmp_path / "page.html"), str(folder))[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert f"line {at + 1}: seconds: a number is needed" in page


def test_a_lost_setting_costs_its_runs_and_going_on_writes_it_again(stored: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "x"
    shutil.copytree(stored["tune"], folder)
    lines = (folder / "samples.jsonl").read_text().splitlines(keepends=True)
    keys = [json.loads(line).get("key") for line in lines]
    lost = next(i for i, key in enumerate(keys) if key not in (None, "baseline"))
    key = keys[lost]
    (folder / "samples.jsonl").write_text("".join(lines[:lost] + lines[lost + 1 :]))
    assert _nodewise("report", "--html", str(tmp_path / "page.html"), str(folder))[0] == 0
    assert "it has lost the line of the setting" in (tmp_path / "page.html").read_text()
    code, said = _nodewise("tune", "--resume", str(folder))
    assert code == 0, said
    settings = [json.loads(line)["key"] for line in (folder / "samples.jsonl").open() if '"type": "setting"' in line]
    assert settings.count(key) == 1


@pytest.mark.parametrize(("field", "value"), [("budget.seconds", "x"), ("machine.cores[0].kind", 7), ("within", -1)])
def test_a_damaged_question_is_one_message_with_file_and_field(
    stored: dict[str, Path], tmp_path: Path, field: str, value: Any
) -> None:
    folder = tmp_path / "x"
    shutil.copytree(stored["tune"], folder)
    question = json.loads((folder / "question.json").read_text())
    place = {"budget.seconds": ("budget", "seconds"), "machine.cores[0].kind": ("machine", "cores", 0, "kind")}
    (folder / "question.json").write_text(_with(question, place.get(field, (field,)), value))
    for words in (["report"], ["confirm"], ["tune", "--resume"]):
        code, said = _nodewise(*words, str(folder))
        assert code == 2 and "question.json is damaged" in said and f"{field}: " in said, said


@pytest.mark.parametrize("name", ["question.json", "samples.jsonl", "verdict.json", "reference-output"])
@pytest.mark.parametrize("target", ["/dev/zero", "fifo", "folder"])
def test_a_file_that_is_none_is_not_waited_for(stored: dict[str, Path], tmp_path: Path, name: str, target: str) -> None:
    folder = tmp_path / "x"
    shutil.copytree(stored["tune"], folder)
    (folder / name).unlink(missing_ok=True)
    if target == "fifo":
        os.mkfifo(folder / name)
    elif target == "folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to(target)
    for words in (["report"], ["tune", "--resume"]):
        code, said = _nodewise(*words, str(folder))
        assert code in (0, 2), said
