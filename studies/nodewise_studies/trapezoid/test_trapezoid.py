# SPDX-License-Identifier: BSD-3-Clause
"""The flops that the study says are those that its code does: the same templates, run on numbers that count."""

import json
import subprocess
from pathlib import Path

import pytest

from nodewise.studies.commands import worker_command
from nodewise.studies.discovery import find_study
from tests.compiled import compiled

FOLDER = Path(__file__).parent

COUNT = """
#include <cstdint>
#include <cstdio>
#include "scalar.h"
static long flops = 0;
struct Counted {
    double value;
    explicit Counted(double v) : value(v) {}
    friend Counted operator+(Counted a, Counted b) { ++flops; return Counted(a.value + b.value); }
    friend Counted operator*(Counted a, Counted b) { ++flops; return Counted(a.value * b.value); }
    friend Counted operator/(Counted a, Counted b) { ++flops; return Counted(a.value / b.value); }
};
#define HWY_NAMESPACE counted
#include "points-inl.h"
struct Ops {
    using V = double;
    static std::int64_t lanes() { return 1; }
    static V set(double x) { return x; }
    static V index(std::int64_t i) { return static_cast<double>(i); }
    static V add(V a, V b) { ++flops; return a + b; }
    static V mul(V a, V b) { ++flops; return a * b; }
    static V div(V a, V b) { ++flops; return a / b; }
    static V mul_add(V a, V b, V c) { flops += 2; return a * b + c; }
    static V neg_mul_add(V a, V b, V c) { flops += 2; return c - a * b; }
    static V rough_inverse(V d) { ++flops; return static_cast<double>(1.0F / static_cast<float>(d)); }
};
using namespace trapezoid;
template <class Sum> void slope(const char* name, const Sum& sum) {
    flops = 0; sum(1000); const long few = flops;
    flops = 0; sum(3000); const long many = flops;
    std::printf("%s %.17g %.17g\\n", name, (many - few) / 2000.0, sum(10000));
}
int main() {
    const auto h = [](std::int64_t n) { return 1.0 / static_cast<double>(n); };
    slope("original", [&](std::int64_t n) { return sum_original(n, Counted(0), Counted(h(n))).value; });
    slope("second", [&](std::int64_t n) { return sum_second(n, Counted(0), Counted(h(n))).value; });
    namespace c = trapezoid::counted;
    slope("third refined", [&](std::int64_t n) { return c::sum_intervals<Ops, true>(0, n, 0, h(n) / 2, h(n) / 2); });
    slope("third instruction", [&](std::int64_t n) { return c::sum_intervals<Ops, false>(0, n, 0, h(n) / 2, h(n) / 2); });
    slope("fourth refined", [&](std::int64_t n) { return c::sum_points<Ops, true>(0, n, 0, h(n) / 2) * h(n); });
    slope("fourth instruction", [&](std::int64_t n) { return c::sum_points<Ops, false>(0, n, 0, h(n) / 2) * h(n); });
    slope("quads", [&](std::int64_t n) { return c::sum_quads<Ops>(0, n, 0, h(n) / 2) * h(n); });
}
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, float]]:
    folder = tmp_path_factory.mktemp("count")
    (folder / "count.cpp").write_text(COUNT)
    program = compiled([folder / "count.cpp"], folder / "count", "-O1", f"-I{FOLDER}")
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    rows = [line.rsplit(" ", 2) for line in done.stdout.splitlines()]
    return {name: (float(flops), float(integral)) for name, flops, integral in rows}


def test_the_counting_code_integrates_to_pi(counted: dict[str, tuple[float, float]]) -> None:
    # sums over points take the left end whole and leave the right one out: half of 4 - 2, times h, more
    for name, (_, integral) in counted.items():
        ends = 1e-4 if name.split()[0] in ("fourth", "quads") else 0
        assert integral - ends == pytest.approx(3.14159265358979, abs=1e-8), name


@pytest.mark.parametrize("division", ["refined", "instruction"])
@pytest.mark.parametrize("variant", ["original", "second", "third", "fourth", "threaded", "quads"])
def test_a_variant_reports_the_flops_that_its_code_does(
    counted: dict[str, tuple[float, float]], variant: str, division: str
) -> None:
    point = {"intervals": "1000", "integrals": "3", "division": division}
    done = subprocess.run(
        worker_command(find_study("trapezoid"), variant, point), capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout.splitlines()[0])
    code = {"third": f"third {division}", "fourth": f"fourth {division}", "threaded": f"fourth {division}"}
    assert answer["flops"] == pytest.approx(counted[code.get(variant, variant)][0] * 3000)
    assert answer["items"] == 3000


@pytest.mark.long
def test_the_published_counts_are_those_of_fifty_million_intervals() -> None:
    flops = {"original": 500_000_946, "second": 600_000_945, "third": 1_050_001_011, "fourth": 500_001_019}
    for variant, published in flops.items():
        done = subprocess.run(
            [*worker_command(find_study("trapezoid"), variant, {"intervals": "50000000"}), "--threads", "1"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout.splitlines()[0])["flops"] == pytest.approx(published, abs=1100)


def test_a_higher_rate_is_distinguished_from_a_shorter_time() -> None:
    advise = find_study("trapezoid").study.advise
    assert advise is not None
    rows = [
        {"contender": "original", "seconds": 20.90579, "flops": 500_000_946},
        {"contender": "third", "seconds": 0.65617, "flops": 1_050_001_011},
        {"contender": "fourth", "seconds": 0.34496, "flops": 500_001_019},
        {"contender": "quads", "seconds": None, "flops": None},
    ]
    rows = [{**row, "kind": "variant"} for row in rows]
    rows.append({"contender": "numpy_trapezoid", "kind": "peer", "seconds": 0.1, "flops": 1e6})
    text = "\n".join(advise({"rows": rows}))
    assert "third's rate is 66.9 times the first's but it is only 31.9 times as fast" in text
    assert "2.1 flops" in text
    assert "fourth's rate is lower (x0.91 of third's) and yet it is 1.90 times as fast" in text
    assert "fourth is done first; the highest rate is third's" in text
    assert "numpy" not in text
    assert advise({"rows": rows[1:]}) == []
