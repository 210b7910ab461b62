# SPDX-License-Identifier: BSD-3-Clause
"""Parity for cold storage: Reed-Solomon and XOR across and down the stripes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nodewise.base.units import format_percent
from nodewise.studies.contract import Knob, Library, Limit, Published, Study

DATA = {"xor": 10, "horizontal": 10, "pq": 10, "rs": 9}
PARITIES = {"xor": 2, "horizontal": 1, "pq": 2, "rs": 3}
ROWS = 10


def multiply(a: int, b: int) -> int:
    """The product in GF(2^8) with the polynomial 0x11d."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product


def coefficients(scheme: str) -> list[list[int]]:
    """What each linear parity takes of each data stripe."""
    powers = [1]
    for _ in range(9):
        powers.append(multiply(powers[-1], 2))
    inverse = {a: b for a in range(1, 16) for b in range(1, 256) if multiply(a, b) == 1}
    return {
        "xor": [[1] * 10],
        "horizontal": [[1] * 10],
        "pq": [[1] * 10, powers],
        "rs": [[inverse[(9 + i) ^ j] for j in range(9)] for i in range(3)],
    }[scheme]


def encode(scheme: str, stripes: Any, row: int) -> list[Any]:
    """The parity stripes of data stripes (a row each), in NumPy."""
    parities = []
    for taken in coefficients(scheme):
        tables = [np.array([multiply(c, x) for x in range(256)], dtype=np.uint8) for c in taken]
        parities.append(np.bitwise_xor.reduce([t[s] for t, s in zip(tables, stripes, strict=True)]))
    if scheme == "xor":
        padded = np.pad(stripes, ((0, 0), (0, ROWS * row - stripes.shape[1])))
        parities.append(np.bitwise_xor.reduce(padded.reshape(len(stripes), ROWS, row), axis=1).ravel())
    return parities


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The parities, or the stripes that were lost."""
    scheme, size = point["scheme"], int(point["stripe"])
    row, whole = -(-size // (64 * ROWS)) * 64, -(-size // 64) * 64
    spacing = max(whole, ROWS * row)
    stripes = inputs["data"].reshape(DATA[scheme], whole)[:, :size]
    parities = encode(scheme, stripes, row)
    wanted, name = parities, "parity"
    if "lost" in point:
        every = [*stripes, *parities]
        wanted, name = [every[i] for i in sorted({int(i) for i in point["lost"].split(",")})], "rebuilt"
    return {name: np.concatenate([np.pad(w, (0, spacing - w.size)) for w in wanted])}


def report(result: Mapping[str, Any]) -> Sequence[str]:
    """Which losses are survived."""
    lines = []
    for k in range(1, 5):
        if f"tried_{k}" in result:
            survived, tried = round(result[f"survived_{k}"]), round(result[f"tried_{k}"])
            lines.append(f"of {tried} ways to lose {k} stripe{'s' if k > 1 else ''}, {survived} are survived")
    if "stripe_and_row_percent" in result:
        share = format_percent(result["stripe_and_row_percent"] / 100)
        lines.append(f"of the ways to lose a stripe and a row of another, {share} are survived")
    if "loss_probability" in result:
        lines.append(
            f"data are lost with probability {result['loss_probability']:.3g}, "
            f"at {format_percent(result['overhead_percent'] / 100)} more storage"
        )
    return lines


STUDY = Study(
    name="parity",
    title="parity for cold storage: Reed-Solomon 9 + 3 and XOR across and down 10 + 2",
    knobs=(
        Knob("scheme", "10 + 2 XOR, its 10 + 1 part across alone, 10 + 2 P and Q, or 9 + 3", "xor", tuple(DATA)),
        Knob("stripe", "bytes of a stripe", str(2**20), most=2**34, unit=1),
        Knob("lost", "stripes to rebuild, data first, such as 0,11 (default: none, encode)", "", text=True),
        Knob("failure", "chance in % that a disk is lost, for the chance of losing data", "1", most=100),
        Knob("passes", "how often the stripes are worked on (default: 64 MiB of data)", ""),
    ),
    default_variant="array",
    plain_variant="galois",
    rate_unit="GB/s",
    rate_scale=1e-9,
    test_points=(
        {"scheme": "xor", "stripe": "1", "passes": "1"},
        {"scheme": "horizontal", "stripe": "65", "passes": "2"},
        {"scheme": "rs", "stripe": "63", "passes": "1"},
        {"scheme": "pq", "stripe": "1003", "passes": "1"},
        {"scheme": "xor", "stripe": "641", "passes": "1", "lost": "4"},
        {"scheme": "xor", "stripe": "70000", "passes": "1", "lost": "9,11"},
        {"scheme": "xor", "stripe": "5000", "passes": "1", "lost": "11"},
        {"scheme": "rs", "stripe": "4099", "passes": "1", "lost": "0,8,10"},
        {"scheme": "pq", "stripe": "1000", "passes": "1", "lost": "0,1"},
        {"scheme": "rs", "stripe": "65536", "passes": "1"},
        {"scheme": "xor", "stripe": "1600000", "passes": "1"},
        # past the nearest caches, and with one thread past all of them
        {"scheme": "pq", "stripe": "100003", "passes": "1"},
        {"scheme": "rs", "stripe": "1300003", "passes": "1"},
        {"scheme": "xor", "stripe": "13571", "passes": "1"},
        {"scheme": "xor", "stripe": "13571", "passes": "2", "lost": "0,11"},
        {"scheme": "xor", "stripe": "700001", "passes": "1", "lost": "6,11"},
        {"scheme": "xor", "stripe": "3000", "passes": "1", "lost": "10,11"},
        {"scheme": "xor", "stripe": "100", "passes": "1", "lost": "5,11"},
        {"scheme": "pq", "stripe": "300007", "passes": "1"},
        {"scheme": "rs", "stripe": "70001", "passes": "1", "lost": "2"},
        {"scheme": "rs", "stripe": "200003", "passes": "1", "lost": "1,10"},
    ),
    reference=reference,
    libraries={"isal": Library(("libisal.so.2",), "apt-get install libisal2")},
    limits=(Limit("bandwidth", "read", per="bytes"),),
    published=(
        Published("galois", "XOR", "800 MB/s", "storage server"),
        Published("pairwise", "XOR", "1.2 GB/s", "storage server"),
        Published("array", "XOR", "2 GB/s, 250%", "storage server"),
    ),
    bench=tuple({"scheme": s, "stripe": str(b)} for s in ("horizontal", "xor", "rs") for b in (2**16, 2**20, 2**24)),
    report=report,
)
