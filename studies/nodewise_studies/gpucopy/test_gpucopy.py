# SPDX-License-Identifier: BSD-3-Clause
"""Copies over a libcuda that is made up: the driver's calls on memory of the host. It shows that they are called as they should
be, and nothing of a GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.studies.commands import native_contenders
from nodewise.studies.discovery import find_study

_FAKE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int copies, waits;
static const char* words[] = {"no error", "invalid value"};
int cuGetErrorString(int e, const char** text) { *text = e == 100 ? "no CUDA-capable device" : words[e == 0 ? 0 : 1]; return 0; }
int cuInit(unsigned flags) { return getenv("FAKE_NO_DEVICE") ? 100 : flags ? 1 : 0; }
int cuDeviceGetCount(int* n) { *n = 1; return 0; }
int cuDeviceGet(int* d, int i) { *d = i; return i ? 1 : 0; }
int cuCtxCreate_v2(void** c, unsigned f, int d) { *c = &copies; return f || d; }
int cuCtxDestroy_v2(void* c) { return c != &copies; }
int cuCtxSynchronize(void) { ++waits; return 0; }
int cuDriverGetVersion(int* v) { *v = 12040; return 0; }
int cuDeviceGetName(char* t, int n, int d) { snprintf(t, n, "made up"); return d; }
int cuDeviceGetPCIBusId(char* t, int n, int d) { snprintf(t, n, "0000:FF:1F.7"); return d; }
int cuMemAlloc_v2(unsigned long long* p, size_t n) { *p = (unsigned long long)malloc(n); return 0; }
int cuMemFree_v2(unsigned long long p) { free((void*)p); return 0; }
int cuMemAllocHost_v2(void** p, size_t n) { *p = calloc(1, n); return 0; }
int cuMemFreeHost(void* p) { free(p); return 0; }
static int copy(void* to, const void* from, size_t n) {
    memmove(to, from, n);
    if (getenv("FAKE_CORRUPTS")) ((char*)to)[n - 1] ^= 1;
    return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t n) { return copy((void*)to, from, n); }
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t n) { return copy(to, (void*)from, n); }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t n, void* s) { return s ? 1 : copy((void*)to, from, n); }
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t n, void* s) { return s ? 1 : copy(to, (void*)from, n); }
"""


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a libcuda.so.1 that is none."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "cuda.c").write_text(_FAKE)
    library = folder / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, folder / "cuda.c"], check=True)
    return folder


def run(
    monkeypatch: pytest.MonkeyPatch, made_up: Path, name: str, environment: dict[str, str] | None = None, **point: str
) -> subprocess.CompletedProcess[str]:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(made_up))
    found = find_study("gpucopy")
    chosen = next(c for c in native_contenders(found, found.study.point(point)) if c.name == name)
    assert chosen.not_run is None, chosen.not_run
    env = {**os.environ, **chosen.env, **(environment or {})}
    return subprocess.run(chosen.command, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize("name", ["pageable", "pinned", "queued"])
@pytest.mark.parametrize("direction", ["to-device", "to-host"])
@pytest.mark.parametrize(("size", "total"), [("1", "3"), ("4097", "409700"), ("100003", "100003")])
def test_what_arrives_is_what_was_sent(
    monkeypatch: pytest.MonkeyPatch, made_up: Path, name: str, direction: str, size: str, total: str
) -> None:
    done = run(monkeypatch, made_up, name, size=size, total=total, direction=direction)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verified"]
    assert found["items"] == found["bytes"] == max(1, int(total) // int(size)) * int(size)
    assert found["driver_version"] == 12040


@pytest.mark.parametrize("direction", ["to-device", "to-host"])
def test_a_copy_that_is_wrong_is_found_out(monkeypatch: pytest.MonkeyPatch, made_up: Path, direction: str) -> None:
    done = run(monkeypatch, made_up, "pinned", {"FAKE_CORRUPTS": "1"}, size="64", total="640", direction=direction)
    assert done.returncode == 1
    assert "wrong result of pinned: byte" in done.stderr


def test_the_driver_says_why_there_is_no_device(monkeypatch: pytest.MonkeyPatch, made_up: Path) -> None:
    done = run(monkeypatch, made_up, "pageable", {"FAKE_NO_DEVICE": "1"}, size="64", total="640")
    assert done.returncode == 1
    assert "cuInit: no CUDA-capable device" in done.stderr


def test_a_slot_that_sysfs_does_not_tell_is_no_limit(monkeypatch: pytest.MonkeyPatch, made_up: Path) -> None:
    done = run(monkeypatch, made_up, "pcie", size="64", total="640")
    assert done.returncode == 1
    assert "sysfs does not tell the link of 0000:ff:1f.7" in done.stderr


def test_without_cuda_each_contender_names_what_brings_it() -> None:
    contenders = [c for c in native_contenders(find_study("gpucopy"), {}) if c.name != "host"]
    if all(c.not_run is None for c in contenders):
        pytest.skip("CUDA is here")
    assert {c.not_run for c in contenders} == {
        "libcuda.so.1 is not installed: it comes with NVIDIA's driver (Debian: nvidia-driver)"
    }


_RATES = r"""
#include <cstdio>
#include "pcie.h"
int main(int, char** words) {
    std::printf("%.0f %.0f %.0f %.0f %.0f\n", gpucopy::pcie_rate(2.5, 1), gpucopy::pcie_rate(8, 16), gpucopy::pcie_rate(16, 16),
                gpucopy::pcie_rate(64, 16), gpucopy::slot_rate(words[1], "0000:65:00.0"));
}
"""


def test_the_rate_of_a_slot_is_that_of_its_line_code(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    device = tmp_path / "sys/bus/pci/devices/0000:65:00.0"
    device.mkdir(parents=True)
    (device / "max_link_speed").write_text("16.0 GT/s PCIe\n")
    (device / "current_link_width").write_text("8\n")
    folder = find_study("gpucopy").folder
    (tmp_path / "rates.cpp").write_text(_RATES)
    program = tmp_path / "rates"
    subprocess.run(
        [compiler, "-std=c++20", f"-I{folder}", tmp_path / "rates.cpp", folder / "pcie.cpp", "-o", program], check=True
    )
    said = subprocess.run([program, tmp_path], capture_output=True, text=True, check=True).stdout
    # 8b/10b: 250 MB/s a lane; 128b/130b; flits of 256 bytes, 242 of them payload
    assert [int(v) for v in said.split()] == [
        250_000_000,
        15_753_846_154,
        31_507_692_308,
        121_000_000_000,
        15_753_846_154,
    ]
