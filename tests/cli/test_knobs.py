# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise knobs` from outside, and the example that it is made for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command

EXAMPLE = Path(__file__).parent.parent.parent / "examples/matmul.py"
WAITING = ("-c", "import time; time.sleep(0.1)")


def test_the_catalogue_is_listed_with_sources(nodewise: Command) -> None:
    done = nodewise("knobs")
    assert done.returncode == 0
    assert "openblas-core-type (OPENBLAS_CORETYPE): default, SkylakeX" in done.stdout
    assert "OPENBLAS_NUM_THREADS follows the axis threads" in done.stdout
    libraries = json.loads(nodewise("knobs", "--json").stdout)["libraries"]
    assert all(k["source"].startswith("https://") for library in libraries for k in library["knobs"])


def test_a_commands_knobs_are_those_of_what_it_loads(nodewise: Command) -> None:
    answer = json.loads(nodewise("knobs", "--json", "--", sys.executable, *WAITING).stdout)
    assert answer["loaded"]["mapped"] and "glibc-malloc" in answer["libraries"]
    assert {k["library"] for k in answer["knobs"]} <= {*answer["libraries"], "allocator"}
    assert set(answer["tried"]) <= {k["name"] for k in answer["knobs"]}
    assert all(k["reason"] for k in answer["knobs"])
    shown = nodewise("knobs", "--", sys.executable, *WAITING).stdout
    assert "files mapped by 1 process" in shown and "worth trying first: " in shown
    assert "time       " in shown and "    tried  " in shown


def test_without_a_run_the_file_alone_decides(nodewise: Command) -> None:
    done = nodewise("knobs", "--no-run", "--", "sh", "-c", "exit 3")
    assert done.returncode == 0 and "known by its file alone" in done.stdout


def test_a_catalogue_of_ones_own(nodewise: Command, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more/x.toml").write_text("name = 3")
    done = nodewise("knobs", "--catalogue", "more")
    assert done.returncode == 2 and "x.toml: name must be a text" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("knobs", "--", "false"), ("knobs", "--", "nonexistent-program"), ("knobs", "--catalogue", "gone")],
    ids=" ".join,
)
def test_bad_input_is_one_clear_message(nodewise: Command, arguments: tuple[str, ...]) -> None:
    done = nodewise(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stdout == ""


def test_the_example_says_its_time_and_checks_itself() -> None:
    done = subprocess.run([sys.executable, EXAMPLE, "200"], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert (
        answer["nodewise"] == 1
        and answer["verified"] is True
        and answer["seconds"] > 0
        and answer["flops"] == 2 * 200**3
    )
    for wrong in ("0", "x", "-3"):
        assert subprocess.run([sys.executable, EXAMPLE, wrong], capture_output=True, check=False).returncode == 2


def test_the_examples_blas_is_seen(nodewise: Command) -> None:
    answer = json.loads(nodewise("knobs", "--json", "--", sys.executable, str(EXAMPLE), "1000").stdout)
    assert "numpy" in answer["libraries"]
    profile = answer["loaded"]["profile"]
    if profile["samples"] and "openblas" in answer["libraries"]:
        (share,) = {k["share"] for k in answer["knobs"] if k["library"] == "openblas"} or {None}
        assert share is None or share > 0.1
