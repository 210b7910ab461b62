# SPDX-License-Identifier: BSD-3-Clause
"""What only the study of isolation has to be tested for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError, UnavailableError
from nodewise.isolation.kind import Kind, Way, kind_of
from nodewise.isolation.probe import Answer, working_way
from nodewise_studies.isolation import instances, isolated
from nodewise_studies.isolation.study import STUDY, reference, report, select


@pytest.mark.parametrize("rounds", [1, 2, 7, 1000])
def test_so_many_steps_are_one_jump(rounds: int) -> None:
    x = first = 12345678901234567890
    for _ in range(rounds):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
    found = reference({"first": np.array([first], np.uint64)}, {"kernel": "compute", "rounds": str(rounds)})
    assert int(found["result"][0]) % 2**64 == x


def test_kinds_are_chosen_beside_the_plain_process() -> None:
    assert set(select({"kinds": "runc,bwrap"})) == {"alone", "process", "runc", "bwrap"}
    assert {"process", "bwrap", "vm", "microvm"} <= set(select({}))


def test_a_kind_that_there_is_not_is_bad_input() -> None:
    with pytest.raises(InputError, match="no kind of isolation 'gvisr'; did you mean gvisor") as told:
        select({"kinds": "runc,gvisr"})
    assert told.value.hint is not None and "bwrap, crun, gvisor" in told.value.hint
    assert "process" in select({"kinds": "alone, runc "}) and "runc" in select({"kinds": "alone, runc "})


def test_short_studies_start_no_emulated_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def known(kind: Kind, way: Way) -> Answer:
        asked.append(f"{kind.name}/{way.name}")
        return Answer(way.emulated, "no KVM here")

    monkeypatch.setattr("nodewise.isolation.probe.known", known)
    monkeypatch.setattr("nodewise.isolation.kind.shutil.which", lambda name, path=None: f"/usr/bin/{name}")
    why = isolated.contenders()["vm"]
    said = why(STUDY.point({}, quick=True))
    assert said is not None and "emulated=yes measures it" in said and asked == ["vm/kvm"]
    assert why(STUDY.point({})) is None and asked[-1] == "vm/emulated"


ROLLUP = """\
5581e0000000-7ffd00000000 ---p 00000000 00:00 0    [rollup]
Rss:                1964 kB
Pss:                 300 kB
Pss_Anon:            188 kB
Shared_Clean:       1600 kB
Shared_Dirty:         16 kB
Private_Clean:        60 kB
Private_Dirty:       288 kB
KSM:                  12 kB
"""


def test_memory_is_read_as_the_kernel_shares_it_out(tmp_path: Path) -> None:
    folder = tmp_path / "proc" / "7"
    folder.mkdir(parents=True)
    (folder / "smaps_rollup").write_text(ROLLUP)
    seen = instances.memory_of(7, tmp_path)
    assert seen == {"pss": 300 * 1024, "private": 348 * 1024, "shared": 1616 * 1024, "ksm": 12 * 1024}
    assert instances.memory_of(8, tmp_path) == {}


@pytest.mark.parametrize(("emulated", "seconds", "taken"), [(True, 0.0, 4e-3), (True, 0.5, 0.5), (False, 0.0, 0.0)])
def test_what_ends_within_a_tick_of_an_emulated_clock_took_one(emulated: bool, seconds: float, taken: float) -> None:
    way = Way("any", emulated)
    state = isolated.State(kind_of("process"), way, [], 1, 1, first=None, seconds=seconds)
    assert isolated.taken(state) == taken


def _row(name: str, ratio: tuple[float, float, float] | None, *, for_scale: bool = False) -> dict[str, Any]:
    metrics = {"startup_p50_s": 0.01, "startup_p99_s": 0.02, "teardown_p50_s": 0.003}
    metrics |= {f"{what}_{n}_bytes": 1048576.0 for what in ("pss", "private", "shared", "ksm") for n in (1, 2)}
    against = None if ratio is None else dict(zip(("ratio", "low", "high"), ratio, strict=True))
    return {
        "contender": name,
        "kind": "variant",
        "seconds": 1.0,
        "metrics": metrics,
        "for_scale": for_scale,
        "against_plain": against,
    }


def test_the_table_says_start_slowdown_memory_and_what_was_published() -> None:
    rows = [_row("process", None), _row("runc", (0.8, 0.5, 1.0)), _row("microvm", None, for_scale=True)]
    text = "\n".join(report({"rows": rows, "point": {"kernel": "syscalls"}}))
    assert "25.0% (0.0 to 100.0)" in text and "reference" in text
    assert "microvm*" in text and "it is not ranked" in text and "not ranked" in text
    assert "PSS of 1" in text and "PSS of 2" in text and "each of 2: private 1 MiB" in text
    assert "light virtual machine: starts as a container, a kernel of its own, speed 2 to 3% lower | microvm" in text
    assert "virtual machine: starts slow, a kernel of its own, speed lower | not measured here" in text
    assert "root mapped" not in text
    assert report({"rows": [], "point": {"kernel": "compute"}}) == []


def test_the_memory_of_guests_with_a_mapped_root_stands_beside() -> None:
    row = _row("microvm", None, for_scale=True)
    row["metrics"] |= {"mapped_pss_2_bytes": 2097152.0, "mapped_private_2_bytes": 1048576.0}
    text = "\n".join(report({"rows": [_row("process", None), row], "point": {"kernel": "compute"}}))
    assert "microvm   each of 2, root mapped: pss 2 MiB, private 1 MiB" in text
    assert text.count("root mapped") == 1


def test_a_root_that_is_no_image_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        select({"root": str(tmp_path / "gone.img")})


@pytest.mark.parametrize("name", ["process", "bwrap", "runc", "gvisor"])
def test_a_kind_runs_the_kernel_starts_and_is_measured(name: str) -> None:
    if name != "process":
        try:
            working_way(kind_of(name))
        except UnavailableError as problem:
            pytest.skip(problem.what)
    point = {**STUDY.point({}, quick=True), "rounds": "1000", "contender": name}
    state = isolated.prepare({"first": np.array([3], np.int64)}, point, 1)
    isolated.run(state)
    assert state.seconds > 0 and state.wrong == ""
    assert isolated.outputs(state)["result"] == reference({"first": np.array([3], np.int64)}, point)["result"]
    found = isolated.metrics(state)
    assert 0 < found["startup_p50_s"] <= found["startup_p99_s"] and found["for_scale"] == 0
    assert found["pss_1_bytes"] > 0 and found["pss_2_bytes"] > 0 and found["private_2_bytes"] > 0
    assert isolated.contenders()[name](point) is None
