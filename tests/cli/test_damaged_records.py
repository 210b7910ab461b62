# SPDX-License-Identifier: BSD-3-Clause
"""Stored experiments with one thing changed, as a disk, an editor or another version may leave them: each is a message or is
read as far as it goes, and never a defect. With NODEWISE_EXPLORE=1 the long tests try all changes, else a seeded choice."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.exit_codes import ExitCode
from tests.attack.damages import changed, damages, nodewise_here, store

CHOSEN = [12, pytest.param(10**9 if os.environ.get("NODEWISE_EXPLORE") else 100, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small experiment of each kind."""
    return store(tmp_path_factory.mktemp("stored"))


@pytest.mark.some(3)
@pytest.mark.parametrize("most", CHOSEN)
@pytest.mark.parametrize("kind", ["run", "compare", "tune", "scale", "confirm"])
def test_one_thing_changed_is_no_defect(stored: dict[str, Path], kind: str, most: int, tmp_path: Path) -> None:
    random_ = random.Random(1)
    made = damages(stored[kind])
    chosen = made if len(made) <= most else random_.sample(made, most)
    for number, (name, content) in enumerate(chosen):
        folder = tmp_path / str(number)
        shutil.copytree(stored[kind], folder, ignore=shutil.ignore_patterns("report.html"))
        (folder / name).write_bytes(content)
        commands = [["report", "--json", "--csv", str(folder / "table.csv"), str(folder)]]
        if number % 10 == 0:
            commands.append(["report", str(folder)])
        if number % 10 == 5 and kind in ("compare", "tune"):
            commands.append(["confirm", "--max-runs", "7", "--budget", "0.1s", "--out", f"{folder}-c", str(folder)])
        if number % 10 == 8 and kind != "confirm":
            commands.append([kind, "--resume", str(folder)])
        for words in commands:
            code, said = nodewise_here(*words)
            assert code in (0, 1, 2), (words, name, content[:2000], said)
            assert code != ExitCode.DEFECT


def test_what_is_damaged_is_named_and_the_rest_is_used(stored: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "x"
    shutil.copytree(stored["compare"], folder)
    lines = (folder / "samples.jsonl").read_text().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if json.loads(line)["type"] == "sample"][4]
    broken = json.loads(lines[at])
    broken["seconds"] = "fast"
    lines[at] = json.dumps(broken) + "\n"
    (folder / "samples.jsonl").write_text("".join(lines))
    assert nodewise_here("report", "--html", str(tmp_path / "page.html"), str(folder))[0] == 0
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
    assert nodewise_here("report", "--html", str(tmp_path / "page.html"), str(folder))[0] == 0
    assert "it has lost the line of the setting" in (tmp_path / "page.html").read_text()
    code, said = nodewise_here("tune", "--resume", str(folder))
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
    (folder / "question.json").write_text(changed(question, place.get(field, (field,)), value))
    for words in (["report"], ["confirm"], ["tune", "--resume"]):
        code, said = nodewise_here(*words, str(folder))
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
        code, said = nodewise_here(*words, str(folder))
        assert code in (0, 2), said
