# SPDX-License-Identifier: BSD-3-Clause
"""DGEMM: the product of two matrices, as BLAS defines it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nodewise.studies.contract import Knob, Library, Limit, Published, Study


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """C = alpha op(A) op(B) + beta C0; beyond the rows C stays as it was."""
    n = int(point.get("n", "2048"))
    m, k = int(point.get("m", n)), int(point.get("k", n))
    alpha, beta = float(point.get("alpha", "1")), float(point.get("beta", "1"))
    pad = int(point.get("pad", "0"))

    def stored(name: str, rows: int, columns: int, turned: bool) -> Any:
        if turned:
            rows, columns = columns, rows
        whole = np.asarray(inputs[name]).reshape(-1, max(rows, 1) + pad)
        part = whole[:columns, :rows].T
        return part.T if turned else part

    c = np.array(inputs["C0"])
    inside = c.reshape(-1, max(m, 1) + pad)[:n, :m].T
    inside[...] = beta * inside if beta else 0
    if alpha and k:
        a, b = stored("A", m, k, point.get("transa") == "T"), stored("B", k, n, point.get("transb") == "T")
        with np.errstate(invalid="ignore"):  # an infinity times zero is meant
            inside += alpha * (a @ b)
    return {"C": c}


SIZE = 2**20
WHERE = "64 cores of a many-core processor, n = 43 008"
#: What the user's environment may say of OpenBLAS's choice is cleared.
ITSELF = {"OPENBLAS_CORETYPE": "", "OPENBLAS_L2_SIZE": ""}
KERNEL = "largest block of {} in the variants `best`; 0: as the instruction set has it"

STUDY = Study(
    name="dgemm",
    title="the product of two matrices, C = alpha op(A) op(B) + beta C, without a library",
    knobs=(
        Knob("n", "columns of op(B) and C", "2048", quick="512", least=0, most=SIZE),
        Knob("m", "rows of op(A) and C; not given: n", "", least=0, most=SIZE),
        Knob("k", "columns of op(A), rows of op(B); not given: n", "", least=0, most=SIZE),
        Knob("transa", "T: A is stored transposed", "N", ("N", "T")),
        Knob("transb", "T: B is stored transposed", "N", ("N", "T")),
        Knob("alpha", "factor of the product", "1", real=True),
        Knob("beta", "factor of C; with 0, C is not read", "1", real=True),
        Knob("pad", "how much the leading dimensions are larger than the rows", "0", least=0, most=2**16),
        Knob(
            "input",
            "special: zeros, subnormals, infinities and a NaN among what is read",
            "numbers",
            ("numbers", "special"),
        ),
        Knob("unread", "what lies in operands that must not be read", "numbers", ("numbers", "nan")),
        Knob("ktile", "k of a tile, in the published variants", "336", tries=("168", "256", "336", "448", "672")),
        Knob("ntile", "columns of the shared tile of B, there", "112", tries=("56", "112", "224", "448", "896")),
        Knob("order", "which of both goes round outside, there", "nk", ("nk", "kn"), tries=("nk", "kn")),
        Knob("rows", "rows of A that a thread takes at a time, there", "48", tries=("8", "24", "48", "96", "192")),
        Knob(
            "row_schedule",
            "OpenMP's schedule of the rows, in naive and there",
            "static",
            ("static", "dynamic", "guided"),
            tries=("static", "dynamic", "guided"),
        ),
        Knob(
            "chunk", "its chunk, in `rows` at a time; 0: the schedule's own", "0", least=0, tries=("0", "1", "2", "4")
        ),
        Knob(
            "l2_distance",
            "how many k ahead `prefetch` fetches into L2; 0: not",
            "32",
            least=0,
            most=4096,
            tries=("0", "4", "8", "16", "32", "64"),
        ),
        Knob(
            "l1_distance",
            "how many k ahead `prefetch` fetches into L1; 0: not",
            "0",
            least=0,
            most=4096,
            tries=("0", "1", "2", "4", "8"),
        ),
        Knob("k_block", KERNEL.format("k"), "0", least=0, tries=("0", "192", "256", "320", "384", "512")),
        Knob("m_block", KERNEL.format("rows"), "0", least=0, tries=("0", "96", "144", "192", "240", "288")),
        Knob("n_block", KERNEL.format("columns"), "0", least=0, tries=("0", "1024", "2048", "4096", "8192")),
    ),
    default_variant="best",
    plain_variant="tiled",
    rate_unit="GFLOP/s",
    rate_scale=1e-9,
    test_points=(
        {"n": "1"},
        {"n": "64"},
        {"n": "5", "m": "0", "k": "3", "pad": "2"},
        {"n": "0", "m": "7", "k": "3"},
        {"n": "7", "m": "5", "k": "0", "beta": "0.5"},
        {"n": "33", "m": "65", "k": "17", "alpha": "0", "beta": "0", "pad": "1"},
        {"n": "33", "m": "65", "k": "17", "alpha": "0", "beta": "-2", "unread": "nan"},
        {"n": "29", "m": "25", "k": "337", "pad": "3", "beta": "-0.5"},
        {"n": "29", "m": "25", "k": "337", "pad": "3", "transa": "T", "alpha": "-2", "beta": "0", "unread": "nan"},
        {"n": "115", "m": "49", "k": "1", "pad": "5", "transb": "T"},
        {"n": "113", "m": "101", "k": "700", "transa": "T", "transb": "T", "beta": "1e-310"},
        {"n": "37", "m": "43", "k": "19", "input": "special"},
        {"n": "61", "m": "131", "k": "401", "transa": "T", "transb": "T", "pad": "1", "beta": "0", "input": "special"},
        # so few rows that threads share the columns, too
        {"n": "257", "m": "3", "k": "5"},
        {"n": "3", "m": "257", "k": "50", "pad": "1"},
        {
            "n": "301",
            "m": "203",
            "k": "101",
            "ktile": "30",
            "ntile": "40",
            "order": "kn",
            "rows": "3",
            "row_schedule": "dynamic",
            "chunk": "2",
            "l1_distance": "4",
            "k_block": "33",
            "m_block": "30",
            "n_block": "20",
        },
    ),
    reference=reference,
    # sums of up to 700 products below 1, in another order
    tolerance={"C": (1e-12, 1e-12)},
    limits=(Limit("flops", "f64", per="flops"),),
    libraries={
        "openblas": Library(
            ("libscipy_openblas64_.so",),
            "pip install scipy-openblas64",
            ("scipy_openblas64/lib/libscipy_openblas64_.so",),
            ITSELF,
        ),
        "openblas-skylakex": Library(
            ("libscipy_openblas64_.so",),
            "pip install scipy-openblas64",
            ("scipy_openblas64/lib/libscipy_openblas64_.so",),
            {**ITSELF, "OPENBLAS_CORETYPE": "SkylakeX"},
        ),
        "openblas-system": Library(("libopenblas.so.0",), "apt-get install libopenblas0", env=ITSELF),
        "openblas-system-skylakex": Library(
            ("libopenblas.so.0",), "apt-get install libopenblas0", env={**ITSELF, "OPENBLAS_CORETYPE": "SkylakeX"}
        ),
        "blis": Library(("libblis.so.4",), "apt-get install libblis4-openmp", env={"BLIS_ARCH_TYPE": ""}),
        # by itself it takes the kernels of Haswell on many virtual machines with AVX-512
        "blis-skx": Library(("libblis.so.4",), "apt-get install libblis4-openmp", env={"BLIS_ARCH_TYPE": "skx"}),
        "mkl": Library(
            ("libmkl_rt.so.3", "libmkl_rt.so.2"),
            "pip install mkl",
            ("lib/libmkl_rt.so.*",),
            {"MKL_THREADING_LAYER": "GNU", "MKL_INTERFACE_LAYER": "LP64", "MKL_ENABLE_INSTRUCTIONS": ""},
            notes={"AuthenticAMD": "held back: MKL does not take its AVX-512 code on AMD's processors"},
        ),
    },
    published=(
        Published("tiled", "step 1: tiles of 336 x 112, strips of 8 rows, 28 columns", "no figure", WHERE),
        Published("registers", "step 2: 28 abstract registers for the block of C", "no figure", WHERE),
        Published("prefetch", "step 3: compiler prefetch, 32 ahead for L2, 0 for L1", "no figure", WHERE),
        Published("", "placement of ten calls, n = 10 000", "more than 50% from best to worst", "244 threads"),
    ),
    bench=({"n": "1000"}, {"n": "1537"}, {"n": "2048"}, {"n": "3001"}, {"n": "4096"}),
)
