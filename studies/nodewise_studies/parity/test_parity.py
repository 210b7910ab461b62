# SPDX-License-Identifier: BSD-3-Clause
"""Which losses are survived, against the rank of what is left, and every one of them rebuilt."""

import itertools
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study

PARITY = find_study("parity")
DATA = {"xor": 10, "horizontal": 10, "pq": 10, "rs": 9}
PARITIES = {"xor": 2, "horizontal": 1, "pq": 2, "rs": 3}
ROWS = 10


#: A library with the interface of ISA-L whose tables are of a kind that only it knows, as those of newer versions are.
STAND_IN = r"""
#include <cstring>
extern "C" {
static unsigned char times(unsigned char a, unsigned char b) {
    unsigned product = 0;
    for (unsigned bit = 0, at = a; bit < 8; ++bit, at = at << 1 ^ ((at & 0x80) ? 0x11d : 0)) { product ^= (b >> bit & 1) ? at : 0; }
    return static_cast<unsigned char>(product);
}
void ec_init_tables(int sources, int outputs, unsigned char* coefficients, unsigned char* tables) {
    std::memset(tables, 0xee, 32 * sources * outputs);
    for (int i = 0; i < sources * outputs; ++i) { tables[i] = coefficients[i] ^ 0x5a; }
}
void ec_encode_data(int bytes, int sources, int outputs, unsigned char* tables, unsigned char** from, unsigned char** into) {
    for (int o = 0; o < outputs; ++o) {
        for (int at = 0; at < bytes; ++at) {
            into[o][at] = 0;
            for (int i = 0; i < sources; ++i) { into[o][at] ^= times(tables[o * sources + i] ^ 0x5a, from[i][at]); }
        }
    }
}
int xor_gen(int, int, void**) { return 1; }
int pq_gen(int, int, void**) { return 1; }
}
"""


def _multiply(a: int, b: int) -> int:
    product = 0
    for bit in range(8):
        product ^= (a << bit) * (b >> bit & 1)
    for bit in range(14, 7, -1):
        product ^= (0x11D << bit - 8) * (product >> bit & 1)
    return product


EXPONENT = [1]
for _ in range(254):
    EXPONENT.append(_multiply(EXPONENT[-1], 2))
LOGARITHM = {x: i for i, x in enumerate(EXPONENT)}


def _times(a: int, b: int) -> int:
    return EXPONENT[(LOGARITHM[a] + LOGARITHM[b]) % 255] if a and b else 0


def _rank(matrix: list[list[int]]) -> int:
    """The rank in GF(2^8)."""
    rows, rank = [list(r) for r in matrix], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        scale = EXPONENT[-LOGARITHM[rows[rank][column]] % 255]
        for i in range(rank + 1, len(rows)):
            factor = _times(rows[i][column], scale)
            if factor:
                rows[i] = [x ^ _times(factor, y) for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def _generator(scheme: str) -> list[list[int]]:
    """Each stripe as a combination of the data stripes."""
    identity = np.eye(DATA[scheme], dtype=int).tolist()
    if scheme == "rs":
        return identity + [[EXPONENT[-LOGARITHM[(9 + i) ^ j] % 255] for j in range(9)] for i in range(3)]
    return identity + [[1] * 10, EXPONENT[:10]][: PARITIES[scheme]]


def _xor_survives(lost: tuple[int, ...]) -> bool:
    """Whether the rows that are left determine those of the data: the rank over GF(2), in bits of whole numbers."""
    vectors = []
    for stripe in set(range(12)) - set(lost):
        for row in range(ROWS):
            if stripe < 10:
                vectors.append(1 << 10 * stripe + row)
            elif stripe == 10:
                vectors.append(sum(1 << 10 * i + row for i in range(10)))
            else:
                vectors.append(sum(1 << 10 * row + r for r in range(ROWS)))
    basis: dict[int, int] = {}
    for vector in vectors:
        rest = vector
        while rest and rest.bit_length() in basis:
            rest ^= basis[rest.bit_length()]
        if rest:
            basis[rest.bit_length()] = rest
    return len(basis) == 100


def _survives(scheme: str, lost: tuple[int, ...]) -> bool:
    if scheme == "xor":
        return _xor_survives(lost)
    left = [row for i, row in enumerate(_generator(scheme)) if i not in lost]
    return _rank(left) == DATA[scheme]


def _worker(variant: str, **knobs: str) -> subprocess.CompletedProcess[str]:
    command = worker_command(PARITY, variant, PARITY.study.point({"passes": "1", **knobs}))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _answer(scheme: str, **knobs: str) -> dict[str, Any]:
    done = _worker("array", scheme=scheme, stripe="1000", **knobs)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("scheme", DATA)
def test_as_many_losses_are_survived_as_the_rank_says(scheme: str) -> None:
    answer = _answer(scheme, failure="3")
    stripes = DATA[scheme] + PARITIES[scheme]
    lost_data = 1 - sum(math.comb(stripes, k) * 0.03**k * 0.97 ** (stripes - k) for k in range(PARITIES[scheme] + 1))
    for k in range(1, PARITIES[scheme] + 2):
        losses = list(itertools.combinations(range(stripes), k))
        survived = sum(_survives(scheme, lost) for lost in losses)
        assert answer[f"tried_{k}"] == len(losses)
        assert answer[f"survived_{k}"] == survived
        if k <= PARITIES[scheme]:
            lost_data += (len(losses) - survived) * 0.03**k * 0.97 ** (stripes - k)
    assert answer["loss_probability"] == pytest.approx(lost_data)
    assert answer["tolerated"] == {"xor": 1, "horizontal": 1, "pq": 2, "rs": 3}[scheme]


def test_the_old_scheme_takes_a_third_more_and_the_new_one_a_fifth() -> None:
    assert _answer("rs")["overhead_percent"] == pytest.approx(100 / 3)
    assert _answer("xor")["overhead_percent"] == pytest.approx(20, abs=3)
    assert json.loads(_worker("array", scheme="xor", stripe="1048576").stdout)["overhead_percent"] == pytest.approx(
        20, abs=0.1
    )


@pytest.mark.some(2)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long, id="every")])
@pytest.mark.parametrize("variant", ["galois", "pairwise", "array", "array_shuffle"])
def test_every_loss_that_is_survived_is_rebuilt(variant: str, every: bool) -> None:
    """Of one stripe, and of two; without the long tests two variants share those of two."""
    two = list(itertools.combinations(range(12), 2))
    if not every:
        two = two[variant in ("pairwise", "array_shuffle") :: 2]
    for lost in [*itertools.combinations(range(12), 1), *two]:
        done = _worker(variant, scheme="xor", stripe="700", lost=",".join(map(str, lost)))
        assert (done.returncode == 0) == _xor_survives(lost), done.stderr
        assert done.returncode == 0 or "not survived" in done.stderr
    for lost in list(itertools.combinations(range(12), 3))[::9]:
        assert _worker(variant, scheme="rs", stripe="700", lost=",".join(map(str, lost))).returncode == 0
    assert "not survived" in _worker(variant, scheme="rs", stripe="700", lost="0,1,2,3").stderr


@pytest.mark.parametrize("lost", ["x", "12", "1;2", "-1", "1,,2"])
def test_what_is_no_list_of_stripes_is_one_clear_message(lost: str) -> None:
    done = _worker("array", lost=lost)
    assert done.returncode != 0
    assert "numbers of stripes" in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_is_survived_is_reported() -> None:
    assert PARITY.study.report is not None
    lines = PARITY.study.report(_answer("xor"))
    assert "of 12 ways to lose 1 stripe, 12 are survived" in lines
    assert any("lost with probability" in line for line in lines)


@pytest.mark.parametrize("words", [("scheme=rs",), ("scheme=rs", "lost=0,8,10"), ("scheme=pq",), ("scheme=xor",)])
def test_isal_makes_the_tables_that_it_reads(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "isal.cpp").write_text(STAND_IN)
    library = tmp_path / "libisal.so.2"
    subprocess.run(["c++", "-O1", "-shared", "-fPIC", str(tmp_path / "isal.cpp"), "-o", str(library)], check=True)
    point = dict(word.split("=") for word in words)
    command = worker_command(PARITY, "isal_ec_encode_data", {**point, "stripe": "641", "passes": "1"})
    done = subprocess.run([*command, "--library", str(library)], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout.splitlines()[-1])["verified"] is True, done.stderr
