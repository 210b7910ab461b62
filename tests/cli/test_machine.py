# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise machine` of this machine: the lines below the picture, of systems that show less."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nodewise.cli.commands.machine import command
from nodewise.machine import sources
from nodewise.runner import memory
from nodewise.runner.memory import HugePagePool
from tests.cli.conftest import Command


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, str]]:
    """The lines by their first word, of this machine with other values and pools of huge pages."""
    here = sources.load_machine()

    def lines(pools: tuple[HugePagePool, ...] = (), **values: Any) -> dict[str, str]:
        monkeypatch.setattr(sources, "load_machine", lambda *_: replace(here, **values))
        monkeypatch.setattr(memory, "huge_page_pools", lambda: list(pools))
        command.main([], standalone_mode=False)
        return {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}

    return lines


def test_no_line_of_the_drawing_is_wider_than_the_terminal(
    nodewise_here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    drawn = nodewise_here("machine", "--machine", "synthetic:pack:2 numa:2 core:8 pu:2").stdout.splitlines()
    assert max(len(line) for line in drawn if line[:1] in "╭│╰") <= 70


@pytest.mark.parametrize(
    ("hypervisor", "said"),
    [(None, ""), ("KVM", " under KVM"), ("unnamed", " under a hypervisor that gives no name")],
)
def test_the_hypervisor_is_named(shown: Callable[..., dict[str, str]], hypervisor: str | None, said: str) -> None:
    assert shown(kernel="Linux 6.1", hypervisor=hypervisor)["kernel"] == f"kernel     Linux 6.1{said}"


def test_huge_pages_that_are_reserved_are_counted(shown: Callable[..., dict[str, str]]) -> None:
    pools = (HugePagePool(2 << 20, None, 8, 3), HugePagePool(1 << 30, None, 0, 0), HugePagePool(1 << 30, 0, 9, 9))
    line = shown(pools, transparent_huge_pages="madvise")["huge"]
    assert line == "huge pages transparent: madvise, 2 MiB: 3 of 8 reserved ones free, 1 GiB: none reserved"
