# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages and completions that the wheel installs are those of the commands."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.cli.commands.tune import AXES_HELP, axes_help
from nodewise.cli.commands.tune import command as tune_command
from nodewise.cli.main import INDEX
from tools import manual


def test_files_are_those_that_the_commands_make() -> None:
    kept = {str(p.relative_to(manual.SHARE)): p.read_text() for p in manual.SHARE.rglob("*") if p.is_file()}
    made = manual.files()
    assert sorted(kept) == sorted(made)
    stale = [name for name, text in made.items() if kept[name] != text]
    assert not stale, "run .venv/bin/python tools/manual.py"
    assert INDEX.read_text() == manual.index(), "run .venv/bin/python tools/manual.py"
    assert AXES_HELP.read_text() == axes_help() + "\n", "run .venv/bin/python tools/manual.py"
    # the site's pages read it of the option itself
    (axes,) = (p for p in tune_command.params if "--axes" in p.opts)
    assert axes.to_info_dict()["help"] == axes_help()


def test_the_help_lists_the_commands_without_loading_one() -> None:
    program = """import sys
from nodewise.cli.main import main
main(["--help"])
print(*(name for name in sys.modules if name.startswith("nodewise.cli.commands.")), file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Say which of several commands is faster." in done.stdout
    assert not done.stderr.strip()


def test_every_command_has_a_page_with_its_options() -> None:
    pages = manual.pages()
    assert {"nodewise.1", "nodewise-tune.1", "nodewise-place.1"} <= pages.keys()
    tune = pages["nodewise-tune.1"]
    for said in ("\\-\\-budget", "\\-\\-axes", "Exit codes", "SEE ALSO"):
        assert said in tune


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff reads manual pages, and is not here")
@pytest.mark.parametrize("name", sorted(manual.pages()))
def test_pages_are_read_without_a_warning(name: str) -> None:
    done = subprocess.run(
        ["groff", "-Kutf8", "-man", "-Tutf8", "-ww"],
        input=manual.pages()[name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "nodewise" in done.stdout


@pytest.mark.some(7)
@pytest.mark.parametrize(
    "words, expected",
    [
        ("nodewise tu", ["plain,tune"]),
        ("nodewise tune --bud", ["plain,--budget"]),
        ("nodewise run --launcher mp", ["plain,mpich"]),
        ("nodewise place sc", ["plain,scatter"]),
        ("nodewise place compact sc", []),
        ("nodewise place --to om", ["plain,omp"]),
        ("nodewise place --huge-pages t", ["plain,transparent"]),
        ("nodewise place --via m", ["plain,mask"]),
        ("nodewise tune --axes thr", ["plain,threads"]),
        ("nodewise tune --axes threads,pl", ["plain,threads,placement"]),
        ("nodewise tune --axes threads,thr", []),
        ("nodewise script --for sl", ["plain,slurm"]),
        ("nodewise study flo", ["plain,flops"]),
        ("nodewise history d", ["plain,diff"]),
    ],
)
def test_a_shell_is_told_what_may_follow(words: str, expected: list[str]) -> None:
    asked = {"_NODEWISE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    nodewise = Path(sys.executable).with_name("nodewise")
    done = subprocess.run([nodewise], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert [line for line in done.stdout.splitlines() if line] == expected, done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes() -> None:
    script = manual.SHARE / "bash-completion/completions/nodewise"
    line = f"""source {script}
COMP_WORDS=(nodewise pla); COMP_CWORD=1
_nodewise_completion nodewise
echo "${{COMPREPLY[*]}}" """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "place", done.stderr
