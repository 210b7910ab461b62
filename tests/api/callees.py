# SPDX-License-Identifier: BSD-3-Clause
"""Functions that are compared, each run in a process of its own."""

import atexit
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def short() -> None:
    time.sleep(0.002)


def long(factor: int = 1) -> None:
    time.sleep(0.02 * factor)


def noting(folder: Path) -> None:
    """Print which process it was, after a line that does not end."""
    with (folder / "seen").open("a") as file:
        file.write(f"{os.getpid()}\n")
    print("half a line", end="")


def failing() -> None:
    raise ValueError("of its own")


def made() -> Callable[[], None]:
    def inner() -> None:
        pass

    return inner


async def waiting() -> None:
    pass


def several() -> Iterator[int]:
    yield 1


class Thing:
    def method(self) -> None:
        pass


def exiting() -> None:
    sys.exit(0)


def closing(descriptor: int | None = None) -> None:
    """Closes the process's standard output, or the descriptor behind it."""
    if descriptor is None:
        sys.stdout.close()
    else:
        os.close(descriptor)


def reporting(seconds: float) -> None:
    """Prints, and has another program print, that it took as long."""
    line = f'{{"nodewise": 1, "seconds": {seconds}, "items": 5}}'
    print(line)
    subprocess.run(["echo", line], check=True)
    atexit.register(print, line)


class Shy:
    """What cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


def taking(value: object) -> None:
    """Takes anything."""
