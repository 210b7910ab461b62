# SPDX-License-Identifier: BSD-3-Clause
"""What `./dev test` makes of tests that fail among others, and of sources that have changed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Fails in a process in which others run, and passes alone.
RACES = "import os\n" + "".join(
    f"def test_race_{n}(): assert 'PYTEST_XDIST_WORKER' not in os.environ\n" for n in range(4)
)
#: What its functions rely on.
BEFORE = 'venv=venv; say() { printf "%s\\n" "$*" >&2; }'
BUILD = """cmake_minimum_required(VERSION 3.20)
project(made NONE)
add_custom_command(OUTPUT made COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/source made
                   DEPENDS ${PROJECT_SOURCE_DIR}/source)
add_custom_target(all_of_it ALL DEPENDS made)
install(FILES ${CMAKE_BINARY_DIR}/made DESTINATION package)
install(FILES ${CMAKE_BINARY_DIR}/made DESTINATION /nobody/writes/here COMPONENT share)
"""


def _function(name: str) -> str:
    found = re.search(rf"^{name}\(\) \{{.*?^\}}", (ROOT / "dev").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found[0]


def _run(folder: Path, *words: str) -> tuple[int, str, str]:
    (folder / "test_some.py").write_text(RACES + "def test_well(): pass\ndef test_wrong(): assert False\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "venv/bin").mkdir(parents=True)
    (folder / "venv/bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "venv/bin/python").chmod(0o755)
    script = f'{BEFORE}\n{_function("run_suite")}\nrun_suite "$@"'
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    # what other plugins load would take most of the time
    env |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    command = ["bash", "-euo", "pipefail", "-c", script, "dev", "-n", "1", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_what_fails_among_others_and_passes_alone_is_named_and_does_not_decide(tmp_path: Path) -> None:
    code, _, said = _run(tmp_path, "-k", "race_1 or race_2 or well")
    assert code == 0
    assert "alone: test_some.py::test_race_1 test_some.py::test_race_2: a fault of the test or a race" in said


@pytest.mark.long
def test_what_fails_alone_too_decides(tmp_path: Path) -> None:
    code, _, said = _run(tmp_path, "-k", "race_1 or wrong or well")
    assert code == 1
    assert "alone: test_some.py::test_race_1: a fault" in said


@pytest.mark.parametrize(
    "words",
    [pytest.param(["-k", "race"], id="many"), pytest.param(["-x"], id="not all were run", marks=pytest.mark.long)],
)
def test_many_failures_and_a_suite_that_was_cut_short_are_what_they_are(tmp_path: Path, words: list[str]) -> None:
    code, printed, said = _run(tmp_path, *words)
    assert code in (1, 2) and "failed" in printed
    assert "once more" not in said and "alone" not in said


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A folder of something built and installed, as its stamp says."""
    (tmp_path / "CMakeLists.txt").write_text(BUILD)
    (tmp_path / "source").write_text("1")
    (tmp_path / "venv/lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "stamp").write_text("files\ntext\n")
    subprocess.run(["cmake", "-G", "Ninja", "-S", ".", "-B", "built"], cwd=tmp_path, capture_output=True, check=True)
    return tmp_path


def _compile(folder: Path, now: str, build: str = "built") -> tuple[int, str]:
    script = f'{BEFORE}\n{_function("compile")}\ncompile {build} stamp "$1"'
    command = ["bash", "-euo", "pipefail", "-c", script, "dev", now]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_sources_that_say_something_else_are_compiled_and_what_is_made_is_installed(compiled: Path) -> None:
    made = compiled / "venv/lib/python3.11/site-packages/package/made"
    for text in "first", "second":
        (compiled / "source").write_text(text)
        assert _compile(compiled, f"files\n{text}") == (0, "compiling what has changed\n")
        assert made.read_text() == text
        assert (compiled / "stamp").read_text() == f"files\n{text}\n"


@pytest.mark.parametrize(("now", "build"), [("other files\nchanged", "built"), ("files\nchanged", "never configured")])
def test_other_files_and_what_was_never_built_are_for_the_installer(compiled: Path, now: str, build: str) -> None:
    assert _compile(compiled, now, f"'{build}'") == (1, "")
    assert (compiled / "stamp").read_text() == "files\ntext\n"


def test_a_source_that_does_not_compile_is_an_error_and_is_tried_again(compiled: Path) -> None:
    (compiled / "source").unlink()
    code, said = _compile(compiled, "files\nchanged")
    assert code == 1 and "error: the build failed; all of it is in venv/compiled.log" in said
    assert (compiled / "stamp").read_text() == "files\ntext\n"
