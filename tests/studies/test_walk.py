# SPDX-License-Identifier: BSD-3-Clause
"""docs/adding-a-study.md, followed: from an empty folder outside to a checked row with a peer, no file of the project touched."""

import itertools
import json
import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study
from tests.started import started

DOCUMENT = Path(__file__).parents[2] / "docs/adding-a-study.md"


def files() -> dict[str, str]:
    """The files of the document, by name: blocks that begin with a comment of it."""
    section = DOCUMENT.read_text().partition("## A first one")[2].partition("\nThen\n")[0]
    heads = re.compile(r"^    (?:#|//) ([\w/]+\.(?:py|cpp|md))\n", re.MULTILINE)
    _, *parts = heads.split(section)
    return {name: textwrap.dedent(text).strip() + "\n" for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("walk") / "clip"
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def again(clip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another one, in which a line is changed and put back: to build it for the first time takes longer than to check it."""
    folder = tmp_path_factory.mktemp("again") / "clip"
    shutil.copytree(clip, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def nodewise(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))}
    env = {**kept, "NODEWISE_CACHE": str(folder.parent / "cache"), "OMP_WAIT_POLICY": "passive"}
    return started(*words, cwd=folder.parent, env=env, timeout=None)


def test_the_document_has_a_whole_folder() -> None:
    assert sorted(files()) == ["README.md", "peers/numpy_clip.py", "study.py", "table.cpp", "trusted.py"]


@pytest.mark.long
def test_it_keeps_the_contract(clip: Path) -> None:
    done = nodewise(clip, "study", "check", "./clip")
    assert done.returncode == 0, done.stdout + done.stderr
    *rules, last = done.stdout.splitlines()
    assert len(rules) == 11 and all(rule.startswith("right  ") for rule in rules)
    assert last == "it keeps the contract"


def test_it_ends_in_a_checked_row_with_a_peer(clip: Path) -> None:
    words = ("--n", "20000", "--threads", "1", "--blocks", "1", "--accept-disturbed", "--json")
    done = nodewise(clip, "study", "./clip", *words)
    assert done.returncode == 0, done.stderr
    rows = {row["contender"]: row for row in json.loads(done.stdout)["rows"]}
    assert set(rows) >= {"branch", "select", "numpy_clip"}
    assert all(rows[name]["seconds"] > 0 and not rows[name]["not_run"] for name in ("branch", "select", "numpy_clip"))
    assert rows["numpy_clip"]["kind"] == "peer"
    # with one run of each, beside other work, a row may lie above its limit and have no share of it
    assert any(row["kind"] == "limit" and row["seconds"] for row in rows.values())
    page = nodewise(clip, "study", "./clip", "low=3")
    assert page.returncode == 2 and "hint: give low=0 high=1" in page.stderr


def _splitmix64(state: int) -> int:
    z = (state + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def test_its_random_numbers_are_splitmix64s(clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the first number that the generator's authors' own code prints from state 0
    assert _splitmix64(0) == 0xE220A8397B1DCDAF
    monkeypatch.setenv("NODEWISE_CACHE", str(clip.parent / "cache"))
    command = worker_command(find_study(str(clip)), "select", {"n": "1000"})
    subprocess.run([*command, "--seed", "5", "--dump", str(tmp_path)], check=True, capture_output=True)
    due = [4 * ((_splitmix64((_splitmix64(5) + i) % 2**64) >> 11) / 2**53) - 2 for i in range(1000)]
    assert np.load(tmp_path / "x.npy").tolist() == due
    assert abs(float(np.mean(due))) < 0.1


_WRITTEN = itertools.count(1)


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    if path.suffix == ".py":
        # Python tells what it has compiled by whole seconds and the length
        os.utime(path, (next(_WRITTEN),) * 2)


def _long(*case: str | list[str]) -> Any:
    return pytest.param(*case, marks=pytest.mark.long)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("file", "old", "new", "broken"),
    [
        (
            "table.cpp",
            "std::min(task.high, task.x[i])",
            "task.x[i]",
            ["every variant is right", "select at", "y[0] is"],
        ),
        (
            "table.cpp",
            "task.y[i] != due",
            "i == 0 && task.y[i] != due",
            ["check does not notice that y[2049] is wrong"],
        ),
        _long("table.cpp", "nw_random(run->seed,", "nw_random(1,", ["x does not depend on the seed"]),
        (
            "trusted.py",
            "x > high, high",
            "x > high, low",
            ["every variant is right", "y is not what `reference` gives"],
        ),
        ("study.py", 'inputs["x"]', 'inputs["z"]', ["KeyError: 'z'", "study.py, line "]),
        _long("peers/numpy_clip.py", 'out=state["y"]', 'out=state["x"]', ["numpy_clip:", "wrong result"]),
        _long("README.md", "Trap", "", []),
        _long("table.cpp", '.name = "clip"', '.name = "clap"', ["its table has the name 'clap' and study.py 'clip'"]),
        _long("study.py", 'Limit("bandwidth", "copy", "bytes"),', "", ["it has no limit"]),
    ],
)
def test_a_rule_that_is_broken_is_named(again: Path, file: str, old: str, new: str, broken: list[str]) -> None:
    text = (again / file).read_text()
    assert old in text
    _write(again / file, text.replace(old, new))
    try:
        done = nodewise(again, "study", "check", str(again))
    finally:
        _write(again / file, text)
    assert done.returncode == (1 if broken else 0), done.stderr
    assert "Traceback" not in done.stderr
    for words in broken:
        assert words in done.stdout


def test_a_file_next_to_it_is_imported_with_a_dot(clip: Path, tmp_path: Path) -> None:
    mine = tmp_path / "clip"
    shutil.copytree(clip, mine)
    (mine / "study.py").write_text((mine / "study.py").read_text().replace("from .trusted", "from trusted"))
    done = nodewise(mine, "study", "check", str(mine))
    assert done.returncode == 2
    assert (
        "No module named 'trusted'" in done.stderr
        and "hint: import a file of the same folder with a dot" in done.stderr
    )


@pytest.mark.parametrize("words", [(), ("./clip", "n=1"), ("--json", "./clip")])
def test_a_check_takes_a_folder_and_nothing_else(clip: Path, words: tuple[str, ...]) -> None:
    done = nodewise(
        clip,
        "study",
        *[w for w in words if w.startswith("--")],
        "check",
        *[w for w in words if w[0] == "."],
        *[w for w in words if "=" in w],
    )
    assert done.returncode == 2 and "nodewise study check ./mine" in done.stderr
