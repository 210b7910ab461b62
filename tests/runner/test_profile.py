# SPDX-License-Identifier: BSD-3-Clause
"""Where programs spend their time: records counted into shares, and real programs sampled."""

import errno
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.shapes import fit
from nodewise.runner import perf_event, profile
from nodewise.runner.loaded import loaded_from_json
from nodewise.runner.perf_event import Record, Sampler, SamplerError
from nodewise.runner.profile import ANONYMOUS, KERNEL, Profile, Profiler, Tally, allocation_ranges
from tests.loaded import libraries_of

LIBRARY = """
double spin_there(long n) { volatile double x = 1; for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; return x; }
"""
PROGRAM = """
#include <stdlib.h>
#include <string.h>
double spin_there(long n);
int main(int argc, char **argv) {
    if (argc > 1) {
        static void *held[1000];
        for (long i = 0; i < 9000000; i++) {
            long at = i * 7919 % 1000;
            free(held[at]);
            held[at] = malloc(16 + i * 31 % 3000);
        }
        return held[1] == 0;
    }
    return spin_there(150000000) < 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("profile")
    for name, source in (("spin.c", LIBRARY), ("app.c", PROGRAM)):
        (made / name).write_text(source)
    spin = made / "libspin.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", made / "spin.c", "-o", spin], check=True)
    # what allocates must not be left out by the compiler
    words = ["cc", "-O1", "-fno-builtin", made / "app.c", spin, f"-Wl,-rpath,{made}", "-o", made / "app"]
    subprocess.run(words, check=True)
    return made


def may_sample() -> None:
    try:
        Sampler(os.getpid(), 0.01).close()
    except SamplerError as problem:
        pytest.skip(f"no sampling here: {problem}")


def test_time_is_reported_by_library(folder: Path) -> None:
    may_sample()
    loaded = libraries_of(["sh", "-c", f"{folder}/app"])
    found = loaded.profile
    assert found is not None and found.enough and not found.missing
    assert found.files[str(folder / "libspin.so")] > 0.7
    assert found.within[str(folder / "libspin.so")] > 0.8
    assert next(iter(found.programs)) == str(folder / "app")
    assert found.allocation < 0.05
    # the runner that starts it has no part
    assert not any("nodewise-runner" in path for path in found.files)
    assert sum(found.files.values()) == pytest.approx(1)
    assert loaded_from_json(json.loads(json.dumps(loaded.to_json()))) == loaded


def test_time_in_malloc_is_reported(folder: Path) -> None:
    may_sample()
    found = libraries_of([str(folder / "app"), "allocate"]).profile
    assert found is not None and found.allocation > 0.3


def test_what_ends_at_once_is_recorded_all_the_same(folder: Path) -> None:
    may_sample()
    (folder / "quick.c").write_text("double spin_there(long n);\nint main(void) { return spin_there(9) < 0; }\n")
    words = ["cc", folder / "quick.c", folder / "libspin.so", f"-Wl,-rpath,{folder}", "-o", folder / "quick"]
    subprocess.run(words, check=True)
    loaded = libraries_of([str(folder / "quick")])
    assert str(folder / "libspin.so") in loaded.mapped and loaded.processes == 1


def test_where_the_kernel_refuses_there_is_a_reason_and_no_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise SamplerError("the system does not allow it")

    monkeypatch.setattr(profile, "Sampler", refuse)
    loaded = libraries_of([str(folder / "app")])
    assert loaded.profile == Profile(missing="the system does not allow it")
    assert str(folder / "libspin.so") in loaded.mapped


def test_refusals_are_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def ask(self: Sampler, *_: object) -> int:
        asked.append(self.kernel)
        import ctypes

        ctypes.set_errno(errno.EACCES)
        return -1

    monkeypatch.setattr(Sampler, "_ask", ask)
    with pytest.raises(SamplerError, match=r"does not allow it .*perf_event_paranoid"):
        Sampler(os.getpid(), 0.01)
    # first with the kernel's own time, then without
    assert asked == [True, False]
    monkeypatch.setattr(perf_event.platform, "machine", lambda: "pdp11")
    with pytest.raises(SamplerError, match="pdp11"):
        Sampler(os.getpid(), 0.01)


def test_a_process_that_is_gone_is_no_failure() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    with Profiler(done.pid) as profiler:
        pass
    assert profiler.profile.missing


def script(*records: Record) -> Tally:
    tally = Tally()
    for record in records:
        tally.add(record)
    return tally


def mapping(pid: int, address: int, size: int, name: str, offset: int = 0) -> Record:
    return Record(0, "map", pid, address, size=size, offset=offset, name=name)


def sample(pid: int, address: int, kernel: bool = False) -> Record:
    return Record(0, "sample", pid, address, kernel)


def test_records_become_shares() -> None:
    tally = script(
        sample(1, 0x1000),  # it has executed nothing yet: what starts programs does not count
        Record(0, "exec", 1),
        mapping(1, 0x1000, 0x1000, "/bin/sh"),
        sample(1, 0x1800),
        Record(0, "fork", 2, parent=1),
        sample(2, 0x1000),
        Record(0, "exec", 2),
        mapping(2, 0x1000, 0x2000, "/bin/app"),
        mapping(2, 0x9000, 0x1000, "/lib/libx.so (deleted)"),
        mapping(2, 0x2000, 0x1000, "//anon"),
        sample(2, 0x1FFF),
        sample(2, 0x2000),
        sample(2, 0x2FFF),
        sample(2, 0x9000),
        sample(2, 0xA000),
        sample(2, 0x1000, kernel=True),
    )
    found = tally.profile(True)
    assert found.samples == 8 and found.kernel and tally.processes == 2
    eighths = {name: round(share * 8) for name, share in found.files.items()}
    assert eighths == {"/bin/sh": 2, "/bin/app": 1, ANONYMOUS: 3, "/lib/libx.so": 1, KERNEL: 1}
    assert {name: round(share * 8) for name, share in found.programs.items()} == {"/bin/sh": 2, "/bin/app": 6}
    assert round(found.within["/lib/libx.so"] * 8) == 6 and round(found.within["/bin/sh"] * 8) == 2
    assert not found.enough
    assert fit(json.loads(json.dumps(found.to_json())), Profile) == found


def test_without_samples_there_is_a_reason() -> None:
    assert "no sample" in script(Record(0, "exec", 1)).profile(True).missing


REGIONS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30), st.integers(0, 5)), max_size=25)


@given(REGIONS)
def test_a_mapping_takes_the_place_of_what_was_there(regions: list[tuple[int, int, int]]) -> None:
    process = profile._Process()
    painted: dict[int, tuple[str, int]] = {}
    for begin, size, name in regions:
        process.put(begin, begin + size, 100, f"/{name}")
        painted |= {at: (f"/{name}", at - begin + 100) for at in range(begin, begin + size)}
    for at in range(100):
        assert process.at(at) == painted.get(at, (ANONYMOUS, 0))


def test_the_c_librarys_unnamed_functions_for_memory_are_known() -> None:
    """Its own symbols, where they were kept aside, say which these are; else at least malloc itself is one."""
    libc = next((p for p in map(Path, ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6")) if p.exists()), None)
    nm = shutil.which("nm")
    if libc is None or nm is None:
        pytest.skip("no C library at the usual places")
    ranges = allocation_ranges(str(libc))
    listed = subprocess.run([nm, "-D", "--defined-only", libc], capture_output=True, text=True, check=True).stdout
    places = {f[2].split("@")[0]: int(f[0], 16) for f in map(str.split, listed.splitlines()) if len(f) == 3}

    def known(name: str) -> bool:
        # in these libraries code lies in the file where it lies in memory
        return any(a <= places[name] < b for a, b in ranges)

    assert all(map(known, ("malloc", "free", "calloc", "realloc", "posix_memalign")))
    assert not any(map(known, ("qsort", "printf", "memcpy", "strtol", "getenv")))
    # the functions that do the work take more than those that are named
    assert sum(b - a for a, b in ranges) > 8000
    assert allocation_ranges("/proc/gone") == [] and allocation_ranges(__file__) == []


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 7, 9, 77]), st.integers(0, 80), st.binary(max_size=80)), max_size=6)
)
def test_broken_records_end_the_reading(records: list[tuple[int, int, bytes]]) -> None:
    sampler = Sampler.__new__(Sampler)
    sampler.lost = 0
    data = b"".join(struct.pack("IHH", kind, 0, size) + body for kind, size, body in records)
    assert all(r.kind in ("map", "exec", "fork", "sample") for r in sampler._records(data))


def test_records_are_read_as_the_kernel_writes_them() -> None:
    def record(kind: int, misc: int, body: bytes) -> bytes:
        return struct.pack("IHH", kind, misc, 8 + len(body)) + body

    tail = struct.pack("IIQ", 7, 8, 99)
    data = record(9, 2, struct.pack("QIIQ", 0x1234, 7, 8, 50))
    data += record(1, 2, struct.pack("IIQQQ", 7, 8, 0x1000, 0x2000, 0x3000) + b"/lib/l.so\0\0\0\0\0\0\0" + tail)
    data += record(3, 1 << 13, struct.pack("II", 7, 8) + b"name\0\0\0\0" + tail)
    data += record(3, 0, struct.pack("II", 7, 8) + b"name\0\0\0\0" + tail)
    data += record(7, 0, struct.pack("IIIIQ", 9, 7, 9, 8, 60) + tail)
    data += record(7, 0, struct.pack("IIIIQ", 7, 7, 9, 8, 60) + tail)
    data += record(2, 0, struct.pack("QQ", 1, 42) + tail)
    sampler = Sampler.__new__(Sampler)
    sampler.lost = 0
    assert list(sampler._records(data)) == [
        Record(50, "sample", 7, 0x1234),
        Record(99, "map", 7, 0x1000, size=0x2000, offset=0x3000, name="/lib/l.so"),
        Record(99, "exec", 7),
        Record(99, "fork", 9, parent=7),
    ]
    assert sampler.lost == 42
