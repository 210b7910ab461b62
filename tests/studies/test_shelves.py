# SPDX-License-Identifier: BSD-3-Clause
"""Studies that installed packages bring by an entry point, and the engine without any."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, UnavailableError
from nodewise.cli.main import main
from nodewise.studies import shelves
from nodewise.studies.discovery import binary_of, find_study, study_names
from nodewise.studies.shelves import Shelf, elsewhere, own_shelf, published

ROOT = Path(__file__).parents[2]
STUDY = """
from nodewise.studies.contract import Knob, Study
from .helper import TITLE
STUDY = Study(name="{name}", title=TITLE, knobs=(), default_variant="count", plain_variant="count",
              rate_unit="items/s", rate_scale=1, test_points=(), reference=lambda inputs, point: {{}})
"""
TABLE = """
#include "abi/kernel.h"
namespace {
int layout(nw_run* run) { nw_declare(run, "y", NW_F64, NW_OUTPUT, 1); return 0; }
int nothing(nw_run*) { return 0; }
void work(const nw_run*, nw_work* out) { out->items = 1; }
constexpr nw_variant kVariants[] = {{.name = "count", .run = nothing}};
constexpr nw_study kStudy{.abi = NW_ABI, .name = "brought", .layout = layout, .fill = nothing, .check = nothing,
                          .work = work, .variants = kVariants, .variant_count = 1};
}
const nw_study* nodewise_study(void) { return &kStudy; }
"""


def study(folder: Path, title: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "study.py").write_text(STUDY.format(name=folder.name))
    (folder / "helper.py").write_text(f"TITLE = {title!r}\n")
    (folder / "table.cpp").write_text(TABLE)
    return folder


def distribution(root: Path, name: str, package: str) -> None:
    """What an installed package leaves that brings studies."""
    about = root / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[nodewise.studies]\n{name} = {package}\n")


def nodewise(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(root), "NODEWISE_CACHE": str(root / "cache")}
    command = [sys.executable, "-m", "nodewise", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine where no package brings studies."""
    monkeypatch.setattr(shelves, "_installed", list)
    shelves.shelves.cache_clear()
    yield
    shelves.shelves.cache_clear()


def test_a_package_brings_studies_by_an_entry_point(tmp_path: Path) -> None:
    distribution(tmp_path, "more-studies", "more_studies")
    study(tmp_path / "more_studies/brought", "brought along")
    (tmp_path / "more_studies/__init__.py").write_text("raise RuntimeError('not before it is asked for')\n")
    listed = nodewise(tmp_path, "study", "--json")
    assert listed.returncode == 2 and "not before it is asked for" in listed.stderr
    (tmp_path / "more_studies/__init__.py").write_text("")
    listed = nodewise(tmp_path, "study", "--json")
    assert listed.returncode == 0, listed.stderr
    assert ("brought", "brought along") in [(s["study"], s["title"]) for s in json.loads(listed.stdout)]


@pytest.mark.long
def test_what_a_package_brings_is_built_and_run(tmp_path: Path) -> None:
    distribution(tmp_path, "more-studies", "more_studies")
    study(tmp_path / "more_studies/brought", "brought along")
    words = ("--threads", "1", "--blocks", "1", "--accept-disturbed", "--json")
    done = nodewise(tmp_path, "study", "brought", *words)
    assert [row["contender"] for row in json.loads(done.stdout)["rows"]] == ["count"], done.stderr


def test_two_packages_that_bring_the_same_are_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        distribution(tmp_path, f"{name}-studies", f"{name}_studies")
        study(tmp_path / f"{name}_studies/brought", name)
    done = nodewise(tmp_path, "study", "brought")
    assert done.returncode == 2
    assert "two installed packages bring a study 'brought': one-studies and two-studies" in done.stderr


def test_a_package_without_its_folder_is_one_clear_message_and_spoils_nothing(tmp_path: Path) -> None:
    distribution(tmp_path, "lost-studies", "lost_studies.deep")
    done = nodewise(tmp_path, "study", "brought")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "the installed package lost-studies brings" in done.stderr and "pip install --force-reinstall" in done.stderr
    # the engine's own are found before
    assert nodewise(tmp_path, "study", "is", "--class").stderr.startswith("error: knob class has no value")


@pytest.mark.usefixtures("alone")
def test_the_engine_alone_has_the_limits_and_the_demo() -> None:
    assert study_names() == ["bandwidth", "flops", "is", "latency"]
    assert find_study("is").binary.is_file()


@pytest.mark.usefixtures("alone")
def test_a_study_that_is_not_installed_says_what_brings_it() -> None:
    brought = {path.parent.name for path in ROOT.glob("studies/nodewise_studies/*/study.py")}
    assert len(brought) >= 13
    for name in brought:
        with pytest.raises(UnavailableError, match=f"the study {name} is in nodewise-studies") as problem:
            find_study(name)
        assert "in a checkout of nodewise: ./dev studies; elsewhere pip install its wheel" in str(problem.value)
    assert set(elsewhere()) == brought
    with pytest.raises(InputError, match="unknown study: 'nothing'") as unknown:
        find_study("nothing")
    assert "bandwidth, flops, is" in str(unknown.value)


@pytest.mark.usefixtures("alone")
def test_the_list_of_studies_ends_with_what_brings_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("compress, dgemm, ") and last.endswith(
        ": in a checkout of nodewise: ./dev studies; elsewhere pip install its wheel, which ./dev wheel makes there"
    )


def test_nothing_is_elsewhere_where_all_is_installed() -> None:
    assert elsewhere() == {}


def test_the_engines_own_are_found_without_asking_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "shelves", lambda: pytest.fail("it asked"))
    assert find_study("flops").study.name == "flops"


def test_files_of_the_same_name_are_each_studys_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.studies.discovery._built", lambda folder, shelf: folder)
    one, two = study(tmp_path / "a/mine", "one"), study(tmp_path / "b/mine", "two")
    assert [find_study(str(folder)).study.title for folder in (one, two, one)] == ["one", "two", "one"]
    (one / "helper.py").write_text("TITLE = 'written anew'\n")
    assert find_study(str(one)).study.title == "written anew"


def test_what_was_built_for_a_package_is_used_and_what_is_missing_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = study(tmp_path / "more/brought", "brought")
    shelf = Shelf("more", (tmp_path / "more",), "more-studies")
    monkeypatch.setattr("nodewise.studies.discovery.shelves", lambda: (own_shelf(), shelf))
    monkeypatch.setattr("nodewise.studies.building.build_folder", lambda folder: folder / "built.so")
    monkeypatch.delenv("NODEWISE_NATIVE", raising=False)
    assert binary_of(folder) == folder / "built.so"
    made = tmp_path / "more/native/brought.so"
    made.parent.mkdir()
    made.touch()
    assert binary_of(folder) == made


def test_what_nodewise_publishes_is_known_also_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.studies.shelves.shelves", lambda: (own_shelf(),))
    assert {"is", "flops", "dgemm", "hash"} <= published() and "mine" not in published()
    assert {"dgemm", "hash"} <= elsewhere().keys() and "is" not in elsewhere()
