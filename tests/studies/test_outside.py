# SPDX-License-Identifier: BSD-3-Clause
"""A study in a folder of its user's own, outside nodewise."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.studies import building
from nodewise.studies.commands import default_command, native_contenders
from nodewise.studies.discovery import find_study

TABLE = """
#include <cstdint>
#include "abi/kernel.h"
namespace {
int layout(nw_run* run) {
    run->buffers[0] = {"x", NW_F64, NW_OUTPUT, 100, nullptr};
    run->buffer_count = 1;
    return 0;
}
int nothing(nw_run*) { return 0; }
int check(nw_run* run) { return static_cast<double*>(run->buffers[0].data)[99] == 99.0 ? 0 : 1; }
void work(const nw_run*, nw_work* out) { out->items = 100; out->flops = 100; }
int count(nw_run* run) {
    for (int i = 0; i < 100; ++i) { static_cast<double*>(run->buffers[0].data)[i] = i; }
    return 0;
}
constexpr nw_variant kVariants[] = {
    {"count", NW_VARIANT, "", count},
    {"future", NW_VARIANT, "avx9000", count},
    {"nothing", NW_LIMIT, "", nothing},
};
constexpr nw_study kStudy{NW_ABI, "mine", layout, nothing, nullptr, check, work, nullptr, kVariants, 3};
}
const nw_study* nodewise_study(void) { return &kStudy; }
"""

STUDY = """
from nodewise.studies.contract import Study
STUDY = Study(name="mine", title="counting", knobs=(), default_variant="count", plain_variant="count",
              rate_unit="Gflop/s", rate_scale=1e-9, test_points=(), reference=lambda inputs, point: {})
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To look for the compiler takes most of a build: it is there for all tests, and what is in the folder for each."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture
def folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NODEWISE_CACHE", str(place / "cache"))
    made = place / "mine"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    (made / "study.py").write_text(STUDY)
    (made / "table.cpp").write_text(TABLE)
    return made


def test_it_is_built_and_run_like_one_of_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = default_command(str(folder), [])
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["verified"] is True
    rows = {c.name: c for c in native_contenders(find_study(str(folder)), {})}
    assert rows["future"].not_run == "needs avx9000, which this processor lacks"
    assert rows["nothing"].kind == "limit"
    # what is there is configured again only where the rule is another one; CMake sees a file that comes
    steps = []
    run = subprocess.run
    monkeypatch.setattr(building.subprocess, "run", lambda words, **how: steps.append(words[1]) or run(words, **how))
    (folder / "more.cpp").write_text("this is no C++\n")
    with pytest.raises(InputError, match="does not compile"):
        building.build_folder(folder)
    assert steps == ["--build"]
    (folder / "more.cpp").unlink()
    monkeypatch.setattr(building, "_state_of", lambda rule: "another")
    building.build_folder(folder)
    assert steps == ["--build", "-S", "--build"]


def test_sources_that_do_not_compile_are_shown_with_the_compilers_words(folder: Path) -> None:
    (folder / "table.cpp").write_text("this is no C++\n")
    with pytest.raises(InputError, match="does not compile") as caught:
        find_study(str(folder))
    assert "table.cpp" in caught.value.what


def test_an_unknown_instruction_set_is_named(folder: Path) -> None:
    (folder / "fast.avx9.cpp").write_text("")
    with pytest.raises(InputError, match=r"unknown\s+instruction set 'avx9'"):
        find_study(str(folder))


@pytest.mark.parametrize("content", ["", "STUDY = 3", "raise RuntimeError('x')", STUDY.replace('"mine"', '"other"')])
def test_a_description_that_is_none_is_one_clear_message(folder: Path, content: str) -> None:
    (folder / "study.py").write_text(content)
    with pytest.raises(InputError, match=r"study\.py"):
        find_study(str(folder))
