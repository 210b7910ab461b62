# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts in colour: on a terminal, without NO_COLOR, and only where one is said."""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from nodewise.base.escaping import unmarked
from nodewise.cli.colours import coloured, wants_colour


def test_the_word_that_is_said_has_its_colour_and_nothing_else() -> None:
    text = "ratio     1.5× (1.4–1.6) faster\n          or undecided\nnote      slower\nlaunch    ./faster\npair      no difference"
    assert unmarked(coloured(text)).split("\n") == [
        "ratio     1.5× (1.4–1.6) \x1b[1;32mfaster\x1b[0m",
        "          or \x1b[1;33mundecided\x1b[0m",
        "note      slower",
        "launch    ./faster",
        "pair      \x1b[1;36mno difference\x1b[0m",
    ]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_who_wants_none_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(_Terminal()) and not wants_colour(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour(_Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(_Terminal())


@pytest.mark.parametrize("plain", ["", "1"])
def test_a_stored_answer_on_a_terminal_of_80_columns(tmp_path: Path, plain: str) -> None:
    from tests.verdicts.cases import Runs, compared

    compared(tmp_path / "x", {"./a": Runs(1.0), "./b": Runs(1.5)})
    words = [sys.executable, "-m", "nodewise", "report", "--text", str(tmp_path / "x")]
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"TERM": "xterm", "NO_COLOR": plain}
    with subprocess.Popen(words, stdout=other, cwd=tmp_path, env=environment):
        os.close(other)
        printed = b""
        try:
            while got := os.read(main, 65536):
                printed += got
        except OSError:
            pass
    os.close(main)
    text = printed.decode().replace("\r", "")
    assert ("\x1b[1;31mslower\x1b[0m" in text) is not bool(plain) and "slower" in text
    seen = text.replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    assert max(len(line) for line in seen.split("\n")) <= 80
