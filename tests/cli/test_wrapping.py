# SPDX-License-Identifier: BSD-3-Clause
"""Answers on a terminal: broken between words, and what is copied is not."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from nodewise.cli.wrapping import wrapped
from tests.cli.conftest import Command
from tests.started import Begun, started


def test_a_line_goes_on_behind_its_label() -> None:
    text = "note      the first words of it and then more of them\n          no other beats in both: this and that"
    assert wrapped(text, 32).split("\n") == [
        "note      the first words of it",
        "          and then more of them",
        "          no other beats in",
        "          both: this and that",
    ]
    assert wrapped("gain from none of the axes, as far as one knows", 40).split("\n")[1].startswith(" " * 10 + "one")
    assert wrapped("the machine has too many words to say", 30) == "the machine has too many words\n  to say"


@pytest.mark.parametrize("label", ["launch", "go on", "build", "script"])
def test_what_is_copied_stays_one_line(label: str) -> None:
    line = f"{label:<10}OMP_PLACES='{{0}},{{1}}' numactl --cpunodebind=0 ./app with many words"
    assert wrapped(line, 40) == line


def test_no_word_is_cut_and_none_is_lost() -> None:
    text = f"note      {'x' * 50} --cpunodebind=0 ー全角の文字 {'ー' * 12} end"
    for width in range(30, 90):
        lines = wrapped(text, width).split("\n")
        assert " ".join(" ".join(lines).split()) == " ".join(text.split())
        assert {w for line in lines for w in line.split()} == set(text.split())
    assert wrapped("a  table   row    of blanks", 40) == "a  table   row    of blanks"


@pytest.mark.parametrize("command", [["run", "-r", "2", "-w", "0"], ["compare", "-r", "2", "-w", "0"]])
def test_answers_are_wrapped_on_a_terminal_only(tmp_path: Path, command: list[str]) -> None:
    words = [*command, "--accept-disturbed", "--", "true"]
    words += ["echo a"] if command[0] == "compare" else []
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    with Begun(*words, stdout=other, stderr=subprocess.DEVNULL, cwd=tmp_path, env=environment):
        os.close(other)
        printed = b""
        try:
            while got := os.read(main, 65536):
                printed += got
        except OSError:
            pass
    os.close(main)
    lines = [
        line for line in re.sub(r"\x1b\[[\d;]*m|\r", "", printed.decode()).split("\n") if not line.startswith("report")
    ]
    said = [line for line in lines if line[:1].isalpha() or line.startswith(" " * 10)]
    labelled = [line for line in said if "true" not in line and "command" not in line]
    assert labelled and all(len(line) <= 50 or len(line.split()) <= 2 for line in labelled)
    piped = started(*words, cwd=tmp_path).stdout
    assert max(map(len, piped.split("\n"))) > 60 and "\n          " not in piped


@pytest.mark.parametrize("columns", [80, 100])
def test_help_breaks_nothing_that_one_copies(
    nodewise_here: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    helps = {name: nodewise_here(name, "--help").stdout for name in ("place", "tune", "compare", "run", "study")}
    for text in helps.values():
        assert max(map(len, text.splitlines())) <= 100
        assert not re.search(r"[\w'(]-\n|--\n|[\ue000\ue001]", text)
        # quotes are closed in their line
        assert not [line for line in text.splitlines() if line.count("`") % 2]
    assert "'--cpunodebind=0'" in helps["place"] and "'places=cores bind=spread'" in helps["place"]
    assert "'ranks * threads <= 64'" in helps["tune"]


def test_each_command_has_a_short_sentence(nodewise_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = nodewise_here("--help").stdout.partition("Measure:")[2].strip().splitlines()
    rows = [line for line in listed if line.startswith(" ") or not line.endswith(":")]
    headings = {line for line in listed if line and line not in rows}
    assert headings == {"Place:", "Understand:", "Studies:", "Nodes:", "Keep:"}
    assert len(list(filter(None, rows))) >= 12
    assert [line for line in rows if line and not re.fullmatch(r"\s*[a-z]+  +[A-Z].{8,}[^.]\.", line)] == []
