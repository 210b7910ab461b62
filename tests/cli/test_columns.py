# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys

import pytest

from nodewise.cli.columns import terminal_columns


@pytest.mark.parametrize("stated", ["", "0", "-3", "132", "wide"])
def test_it_is_what_the_standard_library_says(stated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", stated)
    assert terminal_columns(101) == shutil.get_terminal_size((101, 24)).columns


def test_of_a_terminal_its_own_columns() -> None:
    import fcntl
    import struct
    import termios

    outer, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 57, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    line = "from nodewise.cli.columns import terminal_columns; print(terminal_columns(99))"
    subprocess.run([sys.executable, "-c", line], stdout=inner, env=environment, check=True)
    assert os.read(outer, 100).strip() == b"57"
    os.close(outer)
    os.close(inner)


def test_who_has_no_terminal_gets_the_other() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    line = "import sys; from nodewise.cli.columns import terminal_columns; sys.stderr.write(str(terminal_columns(99)))"
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -c "{line}" >&-'], stderr=subprocess.PIPE, env=environment, check=True
    )
    assert done.stderr == b"99"
