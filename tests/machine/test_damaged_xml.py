# SPDX-License-Identifier: BSD-3-Clause
"""Machines from XML that is damaged: hwloc may crash on it, nodewise does not."""

import os
import random
import time
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, NodewiseError
from nodewise.machine.in_child import ChildError, in_child
from nodewise.machine.sources import hwloc_xml, load_machine
from nodewise.placement.policies import place
from nodewise.runner.proc_files import children_of
from tests.examples import examples


def test_what_a_child_makes_comes_back() -> None:
    assert in_child(lambda: {"big": "x" * 3_000_000})["big"][-1] == "x"
    with pytest.raises(InputError) as caught:
        in_child(lambda: load_machine("json:/proc/gone.json"))
    assert caught.value.what.startswith("cannot read")


def test_a_child_that_dies_or_does_not_end_is_reported() -> None:
    def die() -> None:
        os.kill(os.getpid(), 11)

    before = children_of(os.getpid())
    with pytest.raises(ChildError, match="SIGSEGV"):
        in_child(die)
    with pytest.raises(ChildError, match="did not end"):
        in_child(lambda: time.sleep(60), limit_s=0.1)
    with pytest.raises(ChildError, match="code 3"):
        in_child(lambda: os._exit(3))
    assert set(children_of(os.getpid())) <= set(before)


@pytest.mark.long
def test_one_to_five_wrong_letters_are_a_machine_or_a_message(tmp_path: Path) -> None:
    whole = hwloc_xml("synthetic:pack:2 numa:1 l3:1 core:2 pu:2").encode()
    random_ = random.Random(5)
    refused = 0
    for number in range(1000 if os.environ.get("NODEWISE_EXPLORE") else examples(120)):
        damaged = bytearray(whole)
        for _ in range(random_.choice([1, 1, 1, 2, 5])):
            damaged[random_.randrange(len(damaged))] = random_.choice(b'0123456789abz<>"=/ \xff-')
        path = tmp_path / f"{number}.xml"
        path.write_bytes(damaged)
        try:
            machine = load_machine(str(path))
            place(machine, "balanced", 3)
        except NodewiseError as problem:
            refused += 1
            assert problem.what and problem.hint
    assert refused


@pytest.mark.parametrize(
    "text",
    ["", "<", "<topology/>", "<topology>" + "<object>" * 5000, '<topology version="2.0"><object type="Machine"/>'],
)
def test_nonsense_is_a_message(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.xml").write_text(text)
    with pytest.raises(InputError, match=r"m\.xml"):
        load_machine(str(tmp_path / "m.xml"))
