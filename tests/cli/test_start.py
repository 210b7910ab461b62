# SPDX-License-Identifier: BSD-3-Clause
"""What is loaded to answer the quick questions, which is most of the time that they take."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
SHOWN = "import sys; from nodewise.__main__ import start; code = start(); sys.stderr.write(' '.join(sys.modules)); sys.exit(code)"


#: What no answer about the command line, and no placement, has to load: it is most of what these take.
HEAVY = (
    *(
        "numpy",
        "rich",
        "jinja2",
        "markdown_it",
        "difflib",
        "tempfile",
        "email",
        "importlib.metadata",
        "xml",
        "sqlite3",
        "asyncio",
    ),
    *(
        "nodewise.records",
        "nodewise.verdicts.stored",
        "nodewise.verdicts.compare",
        "nodewise.statistics",
        "nodewise.search",
    ),
    *(
        "nodewise.experiments.blocks",
        "nodewise.tuning",
        "nodewise.runner.local",
        "nodewise.report.pages",
        "nodewise.history",
    ),
)
#: What help has no use for besides.
HELP = (
    *HEAVY,
    "nodewise._core",
    "nodewise.machine.sources",
    "nodewise.runner.launch",
    "nodewise.runner.mpi",
    "subprocess",
    "ctypes",
)


def _loaded(words: list[str]) -> set[str]:
    """The modules that an answer loads where packages are installed: an editable one loads more before nodewise's first line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), sysconfig.get_path("purelib")])}
    done = subprocess.run(
        [sys.executable, "-S", "-c", SHOWN, *words], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0 and done.stdout, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "not_needed"),
    [
        (["--version"], ["click", "nodewise.cli"]),
        (["--help"], HELP),
        (["place", "--help"], [name for name in HELP if name != "subprocess"]),
        (["compare", "--help"], HELP),
        (["tune", "--help"], HELP),
    ],
    ids=["version", "help", "place", "compare", "tune"],
)
def test_what_takes_long_to_load_is_loaded_where_it_is_needed(words: list[str], not_needed: list[str]) -> None:
    assert set(not_needed) & _loaded(words) == set()


def test_a_placement_loads_no_more_than_it_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOWN, "place", "compact", "--machine", "synthetic:core:2 pu:1"],
        capture_output=True,
        text=True,
        check=True,
    )
    # what an editable installation loads by itself
    assert (set(HEAVY) - {"email", "importlib.metadata", "tempfile"}) & set(done.stderr.split()) == set()


#: What a snapshot, and a check before each job, has no use for.
STUDIES = {
    "numpy",
    "nodewise.api.speed",
    "nodewise.api.study",
    "nodewise.studies",
    "nodewise.records",
    "nodewise.tuning",
}


@pytest.mark.parametrize("words", [["check", "--prologue"], ["snapshot"]], ids=["check", "snapshot"])
def test_a_node_is_looked_at_without_what_studies_load(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", SHOWN, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    assert STUDIES & set(done.stderr.split()) == set()


#: Modules of all kinds that an answer may load; a new one at the top of a module shows here before anybody feels it.
MOST = {"--help": 220, "compare --help": 210, "place --help": 235}


@pytest.mark.parametrize("line", MOST)
def test_help_loads_few_modules(line: str) -> None:
    assert 100 < len(_loaded(line.split())) <= MOST[line]


def test_a_version_that_cannot_be_written_is_one_clear_message() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        command = [sys.executable, "-m", "nodewise", "--version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("error: cannot write to standard output: No space left")
