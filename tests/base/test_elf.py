# SPDX-License-Identifier: BSD-3-Clause
"""ELF files as they are on this machine, against binutils, and as they should not be."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError

PYTHON = Path(sys.executable).resolve()
DATA = PYTHON.read_bytes()


def test_a_program_is_read_as_binutils_read_it():
    elf = Elf(DATA)
    assert elf.dynamic and elf.bits == 64
    readelf = shutil.which("readelf")
    assert readelf, "binutils come with the compiler"
    printed = subprocess.run([readelf, "-dW", PYTHON], capture_output=True, text=True, check=True).stdout
    assert elf.needed == [line.split("[")[1].rstrip("]") for line in printed.splitlines() if "(NEEDED)" in line]
    printed = subprocess.run([readelf, "-lW", PYTHON], capture_output=True, text=True, check=True).stdout
    assert f"program interpreter: {elf.interpreter}]" in printed
    printed = subprocess.run([readelf, "--dyn-syms", "-W", PYTHON], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    undefined = {r[7].split("@")[0] for r in rows if len(r) > 7 and r[6] == "UND"}
    assert set(elf.imports()) == undefined
    # of a program that is linked to lie anywhere, code lies in the file where it lies in memory, or by a constant next to
    sized = {(r[7].split("@")[0], int(r[2], 0)) for r in rows if len(r) > 7 and r[3] == "FUNC" and r[6] != "UND"}
    assert {(name, size) for _, size, name in elf.functions()} == {t for t in sized if t[1]}


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"#!/bin/sh\n", b"MZ" + bytes(100), b"\x7fELF\x09\x01" + bytes(60)])
def test_other_files_are_refused(data):
    with pytest.raises(InputError):
        Elf(data)


@given(st.integers(20, 4096), st.lists(st.tuples(st.integers(16, 4095), st.integers(0, 255)), max_size=30))
def test_a_broken_file_is_refused_or_read_and_never_crashes(length, changes):
    data = bytearray(DATA[: max(length, 4096)] if length % 2 else DATA)
    for at, value in changes:
        if at < len(data):
            data[at] = value
    try:
        elf = Elf(bytes(data))
        _ = (elf.dynamic, elf.interpreter, elf.needed, elf.search, sum(1 for _ in elf.imports()), list(elf.functions()))
    except InputError as problem:
        assert "ELF" in problem.what
