# SPDX-License-Identifier: BSD-3-Clause
"""The wheels that `./dev wheel` makes, installed where nothing else is."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from nodewise.base.native import native_path
from tests.made_once import made_once
from tools import arm_wheel, fresh_root, wheel_sizes

ROOT = Path(__file__).parent.parent


#: Python that wheels can be made with: newer than 3.11, with venv and headers.
_FIT = (
    "import sys, sysconfig, os, venv, ensurepip;"
    "sys.exit(sys.version_info < (3, 12) or not os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
)


def _newer() -> str:
    """Another Python here, 3.12 or newer; empty where there is none."""
    found = [str(path) for path in sorted(Path.home().glob(".pyenv/versions/3.1[2-9].*/bin/python3"))]
    for name in [*filter(None, map(shutil.which, ("python3.12", "python3.13", "python3.14"))), *found]:
        if subprocess.run([name, "-c", _FIT], capture_output=True, check=False).returncode == 0:
            return name
    return ""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    another = ["--python", newer] if (newer := _newer()) else []

    def make(_: Path) -> None:
        # in the checkout, where another process of the suite would take them away again
        subprocess.run(["./dev", "wheel", "--native", *another], cwd=ROOT, check=True, capture_output=True)

    made_once(tmp_path_factory, "wheels", make)
    return {path.name.partition("-")[0]: path for path in (ROOT / "build/wheels").glob("*.whl")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--python", "/nowhere/python3.12"], "error: --python: '/nowhere/python3.12' is no Python 3.11 or newer"),
        (["--python"], "error: --python: '' is no Python 3.11 or newer"),
        (["--naive"], "error: wheel: unknown argument '--naive'"),
    ],
)
def test_what_no_wheel_can_be_made_with_is_said_before_anything_is_built(words: list[str], said: str) -> None:
    done = subprocess.run(["./dev", "wheel", *words], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(said) and done.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.skipif("not _newer()", reason="no Python 3.12 or newer with venv and headers is here")
def test_wheels_for_a_newer_python_serve_all_that_come(wheels: dict[str, Path], tmp_path: Path) -> None:
    assert "-py3-none-" in wheels["nodewise_studies"].name
    folder = ROOT / "build/wheels/python3.12"
    newer = {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}
    assert newer.keys() == wheels.keys()
    for name in ("nodewise", "nodewise_transport"):
        assert "-cp312-abi3-manylinux" in newer[name].name
        (core,) = (
            inside for inside in ZipFile(newer[name]).namelist() if "/_core." in inside and inside.endswith(".so")
        )
        assert core == f"{name}/_core.abi3.so"
    subprocess.run([_newer(), "-m", "venv", tmp_path / "v"], check=True)
    subprocess.run([tmp_path / "v/bin/python", "-m", "pip", "install", "-q", *newer.values()], check=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NODEWISE"))}
    for words, said in (
        (["nodewise", "machine"], "hardware thread"),
        (["nodewise", "study"], "hash"),
        (["python", "-c", "import nodewise_transport; print(nodewise_transport.__name__)"], "nodewise_transport"),
    ):
        line = [tmp_path / "v/bin" / words[0], *words[1:]]
        done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert said in done.stdout


def test_the_script_of_pages_can_stand_in_a_page() -> None:
    script = native_path("page.js").read_text(encoding="utf-8")
    assert "vegaEmbed" in script
    assert "</script" not in script.lower() and "<!--" not in script


def test_sizes_are_held_to_the_limit() -> None:
    text, small = wheel_sizes.told({"nodewise.whl": 4_000_000, "numpy.whl": 17_000_000})
    assert small and text.splitlines()[-1] == "  21.00 MB  together, to be at most 25 MB"
    assert not wheel_sizes.told({"nodewise.whl": 4_000_000, "other.whl": 84_000_000})[1]


@pytest.mark.long
def test_the_engine_is_small_enough_with_what_it_needs(wheels: dict[str, Path], tmp_path: Path) -> None:
    found = wheel_sizes.sizes(wheels["nodewise"], tmp_path)
    text, small = wheel_sizes.told(found)
    assert small and len(found) > 4 and any(name.startswith("numpy-") for name in found), text


@pytest.mark.long
def test_the_engine_carries_what_it_links_and_tunes_in_an_empty_environment(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    names = ZipFile(wheels["nodewise"]).namelist()
    assert any("nodewise.libs/libhwloc" in name for name in names)
    # what a study outside is built with comes along, the sources of the studies do not
    assert "nodewise/native/outside/include/abi/kernel.h" in names
    assert not any(
        name.startswith("nodewise/studies/") and name.endswith((".cpp", ".h", "test_is.py")) for name in names
    )
    venv.create(tmp_path / "v", with_pip=True)
    python = tmp_path / "v/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", wheels["nodewise"]], check=True)
    program = tmp_path / "v/bin/nodewise"
    # neither this checkout nor the system's hwloc
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NODEWISE"))}
    environment |= {"NODEWISE_HISTORY": "off"}
    (tmp_path / "data").write_bytes(bytes(4_000_000))
    done = subprocess.run(
        [program, "tune", "--max-runs", "40", "--out", "x", "--", "sha1sum", "data"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "launch    " in done.stdout and (tmp_path / "x/report.html").exists()
    png = subprocess.run(
        [program, "report", "x", "--png", "p"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert png.returncode == 3 and "pip install 'nodewise[figures]'" in png.stderr
    where = subprocess.run(
        [
            python,
            "-c",
            "import nodewise._core, pathlib; nodewise._core; print(pathlib.Path('/proc/self/maps').read_text())",
        ],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert "nodewise.libs/libhwloc" in where.stdout


@pytest.mark.long
def test_the_studies_come_with_their_kernels(wheels: dict[str, Path], tmp_path: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    names = ZipFile(wheels["nodewise_studies"]).namelist()
    assert sum(name.startswith("nodewise_studies/native/") and name.endswith(".so") for name in names) >= 10
    venv.create(tmp_path / "v", with_pip=True)
    subprocess.run([tmp_path / "v/bin/python", "-m", "pip", "install", "-q", *wheels.values()], check=True)
    assert (tmp_path / "v/lib" / version / "site-packages/nodewise_studies").is_dir()
    done = subprocess.run(
        [tmp_path / "v/bin/nodewise", "study"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "hash" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(bool(fresh_root.missing()), reason=fresh_root.missing())
def test_an_empty_debian_gives_a_verdict(wheels: dict[str, Path], tmp_path: Path) -> None:
    fresh_root.make_base()
    found = fresh_root.trial(wheels["nodewise"].parent, tmp_path / "root")
    # how long it takes decides nothing on a machine where other tests run
    assert found.keys() == fresh_root.STEPS.keys() and all(seconds > 0 for seconds in found.values())


#: What readelf says of a file for Arm, as far as it counts.
_TOLD = """  Machine:                           AArch64
 0x0000000000000001 (NEEDED)             Shared library: [libhwloc-1a2b.so.15.6.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
  0x0010:   Name: GLIBC_2.34  Flags: none  Version: 4
"""


def test_what_does_not_belong_in_a_wheel_for_arm_is_named() -> None:
    inside = {"libhwloc-1a2b.so.15.6.1"}
    assert arm_wheel._faults(_TOLD, inside) == []
    assert arm_wheel._faults(_TOLD, set()) == ["it needs libhwloc-1a2b.so.15.6.1, which is not in the wheel"]
    assert arm_wheel._faults(_TOLD.replace("2.34", "2.38"), inside) == ["it needs glibc 2.38"]
    assert arm_wheel._faults(_TOLD.replace("AArch64", "X86-64"), inside) == ["it is for another processor"]


@pytest.mark.long
@pytest.mark.skipif(bool(arm_wheel.missing()), reason=arm_wheel.missing())
@pytest.mark.skipif(bool(arm_wheel.missing(trying=True)), reason=arm_wheel.missing(trying=True))
def test_the_wheel_for_arm_is_installed_and_runs_there(tmp_path: Path) -> None:
    wheel = arm_wheel.make(tmp_path / "wheels")
    assert wheel.name.endswith("_aarch64.whl") and "manylinux" in wheel.name
    (tmp_path / "root").mkdir()
    assert arm_wheel.trial(wheel, tmp_path / "root") == []
