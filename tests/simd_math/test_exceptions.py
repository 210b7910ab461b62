# SPDX-License-Identifier: BSD-3-Clause
"""Floating-point exceptions and special results of the vector functions, as annex F of the C standard wants them, on every instruction
set that this machine has. Those of AVX-512, which has forms of its own, are recorded where this machine has none: what the same program
printed on an Intel processor, family 6 model 207."""

import math
import struct
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from tests.compiled import compiled
from tests.made_once import made_once

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"

INF, NAN = math.inf, math.nan
LEAST, SMALL, LARGEST = 5e-324, 1e-310, 1.7976931348623157e308
SPECIAL = (0.0, -0.0, INF, -INF, NAN, -NAN, LEAST, -LEAST, SMALL, -SMALL, 2.2250738585072014e-308, LARGEST, -LARGEST)
USUAL = (1.0, -1.0, 0.5, 0.9999999999999999, 1.0000000000000002, 2.0, 4.0, 3.141592653589793, 1e-20, 1e20, -1e20)
#: Where exp ceases to be finite, to be normal, and to be more than 0, on either side.
BOUNDS = (709.782712893384, 709.7827128933841, -708.396418532264, -708.3964185322642, -745.1332191019411, -745.1332191019412, 800.0, -801.0, 1e6)  # fmt: skip
ARGUMENTS = (*SPECIAL, *USUAL, *BOUNDS)

OVERFLOW = {"overflow", "inexact"}
UNDERFLOW = {"underflow", "inexact"}


def due(function: str, x: float) -> tuple[float | None, set[str]]:
    """The result where it is exact or no number (else None), and the exceptions that have to be raised."""
    if math.isnan(x):
        return NAN, set()
    if function == "exp":
        if x in (0, INF, -INF):
            return math.exp(x), set()
        return (INF, OVERFLOW) if x > 709.782712893384 else (None, UNDERFLOW if x < -708.396418532264 else {"inexact"})
    if function == "log":
        if x == 0:
            return -INF, {"divide-by-zero"}
        return (NAN, {"invalid"}) if x < 0 else (math.log(x), set()) if x in (1, INF) else (None, {"inexact"})
    if function in ("sin", "cos"):
        if math.isinf(x):
            return NAN, {"invalid"}
        if x == 0:
            return (x if function == "sin" else 1.0), set()
        return None, UNDERFLOW if function == "sin" and abs(x) < 2.2250738585072014e-308 else {"inexact"}
    if function == "sqrt":
        if x < 0:
            return NAN, {"invalid"}
        exact = math.isinf(x) or Fraction(math.sqrt(x)) ** 2 == Fraction(x)
        return math.sqrt(x), set() if exact else {"inexact"}
    return (NAN, {"invalid"}) if x < 1 else (math.acosh(x), set()) if x in (1, INF) else (None, {"inexact"})


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    include = [f"-I{NATIVE}", f"-I{HERE}"]

    def made(folder: Path) -> None:
        compiled([HERE / "exceptions.cpp"], folder / "exceptions", "-O2", *include, libraries=["-lhwy"])

    program = made_once(tmp_path_factory, "simd-math", made) / "exceptions"
    given = "\n".join(struct.pack(">d", x).hex() for x in ARGUMENTS)
    done = subprocess.run([str(program)], input=given, capture_output=True, text=True, check=True)
    printed = done.stdout.splitlines()
    if not any(line.startswith("AVX3") for line in printed):
        printed += (HERE / "avx512.txt").read_text().splitlines()
    return [line.split() for line in printed]


def number(bits: str) -> float:
    return float(struct.unpack(">d", bytes.fromhex(bits))[0])


#: They may call an exact result inexact, by AVX-512.
INEXACT = ("log", "log_quick", "sqrt")
FUNCTIONS = ("exp", "log", "log_quick", "sin", "sin_quick", "cos", "cos_quick", "sqrt", "acosh", "acosh_quick")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_exceptions_are_those_that_are_due(function: str, lines: list[list[str]]) -> None:
    mine = [line for line in lines if line[1] == function]
    for avx512 in (False, True):
        asked = {number(line[2]) for line in mine if line[0].startswith("AVX3") is avx512}
        assert {x for x in asked if x == x} == {x for x in ARGUMENTS if x == x}
    wrong = []
    for target, _, argument, result, *raised in mine:
        x, y = number(argument), number(result)
        wanted, flags = due(function.removesuffix("_quick"), x)
        if function == "log_quick" and x == 0:
            # as its header says
            flags = flags & set(raised)
        same = wanted is None or struct.pack(">d", y) == struct.pack(">d", wanted) or (y != y and wanted != wanted)
        # the standard leaves open an underflow that an inexact result does not deserve, and inexact beside invalid
        spare = {"underflow"} if "inexact" in flags else {"inexact"} if "invalid" in flags else set()
        if target.startswith("AVX3") and function in INEXACT:
            # as their headers say
            spare |= {"inexact"}
        # what a compiler reckons beforehand of scalar code raises neither
        needed = flags - {"inexact", "underflow"} if target == "SCALAR" else flags
        if not (same and needed <= set(raised) <= flags | spare):
            wrong.append(f"{target} {function}({x!r}) = {y!r}, wanted {wanted!r}: raised {raised}, due {sorted(flags)}")
    assert not wrong, "\n".join(dict.fromkeys(wrong))
