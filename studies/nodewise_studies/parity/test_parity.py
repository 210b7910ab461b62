# SPDX-License-Identifier: BSD-3-Clause
"""Which losses are survived, against the rank of what is left, and every one of them rebuilt."""

import itertools
import json
import math
import subprocess
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study

PARITY = find_study("parity")
DATA = {"xor": 10, "horizontal": 10, "pq": 10, "rs": 9}
PARITIES = {"xor": 2, "horizontal": 1, "pq": 2, "rs": 3}
ROWS = 10


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


def _told(scheme: str, **knobs: str) -> dict[str, Any]:
    done = _worker("array", scheme=scheme, stripe="1000", **knobs)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("scheme", DATA)
def test_as_many_losses_are_survived_as_the_rank_says(scheme: str) -> None:
    told = _told(scheme, failure="3")
    stripes = DATA[scheme] + PARITIES[scheme]
    lost_data = 1 - sum(math.comb(stripes, k) * 0.03**k * 0.97 ** (stripes - k) for k in range(PARITIES[scheme] + 1))
    for k in range(1, PARITIES[scheme] + 2):
        losses = list(itertools.combinations(range(stripes), k))
        survived = sum(_survives(scheme, lost) for lost in losses)
        assert told[f"tried_{k}"] == len(losses)
        assert told[f"survived_{k}"] == survived
        if k <= PARITIES[scheme]:
            lost_data += (len(losses) - survived) * 0.03**k * 0.97 ** (stripes - k)
    assert told["loss_probability"] == pytest.approx(lost_data)
    assert told["tolerated"] == {"xor": 1, "horizontal": 1, "pq": 2, "rs": 3}[scheme]


def test_the_old_scheme_takes_a_third_more_and_the_new_one_a_fifth() -> None:
    assert _told("rs")["overhead_percent"] == pytest.approx(100 / 3)
    assert _told("xor")["overhead_percent"] == pytest.approx(20, abs=3)
    assert json.loads(_worker("array", scheme="xor", stripe="1048576").stdout)["overhead_percent"] == pytest.approx(
        20, abs=0.1
    )


@pytest.mark.parametrize("variant", ["galois", "pairwise", "array", "array_shuffle"])
def test_every_loss_that_is_survived_is_rebuilt(variant: str) -> None:
    for lost in [*itertools.combinations(range(12), 1), *itertools.combinations(range(12), 2)]:
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


def test_a_user_is_told_what_is_survived() -> None:
    assert PARITY.study.tell is not None
    lines = PARITY.study.tell(_told("xor"))
    assert "of 12 ways to lose 1 stripe, 12 are survived" in lines
    assert any("lost with probability" in line for line in lines)
