# SPDX-License-Identifier: BSD-3-Clause
"""Native sources that clang-tidy reads as one text: which go together, and that what is wrong in one of them is still seen."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.tidy_groups import ROOT, given_in, how, one_text, own_names, together

HEAD = '#include "shared.h"\n\nnamespace study {\nnamespace {\n\n'
END = "\n}  // namespace\n}  // namespace study\n"
#: A fault for each of several checks; for the first two nothing is searched that is only included.
FAULTS = {
    "clang-analyzer-core.NullDereference": "int sixth(bool give) {\n    int one = 1;\n    int* at = give ? &one : nullptr;\n    return *at;\n}\n",
    "clang-diagnostic-unused-const-variable": "const double kSeventh = 2.5;\n",
    "cppcoreguidelines-init-variables": "int first(int n) {\n    int value;\n    if (n > 1) {\n        value = n;\n    }\n    return n;\n}\n",
    "misc-unused-parameters": "int second(int n) {\n    return 1;\n}\n",
    "readability-braces-around-statements": "int third(int n) {\n    if (n > 1) return 2;\n    return n;\n}\n",
    "modernize-use-nullptr": "int* fourth() {\n    return 0;\n}\n",
    "bugprone-integer-division": "double fifth(int n) {\n    return n / 2;\n}\n",
}


def files(folder: Path, **texts: str) -> list[Path]:
    (folder / "shared.h").write_text("#pragma once\nnamespace study {\nstruct Block;\nvoid run(Block& block);\n}\n")
    for name, text in texts.items():
        (folder / f"{name}.cpp").write_text(text)
    return [folder / f"{name}.cpp" for name in texts]


def names(groups: list[list[Path]]) -> list[list[str]]:
    return sorted(sorted(path.stem for path in group) for group in groups)


def compiled(sources: list[Path], **more: str) -> dict[Path, list[tuple[str, str]]]:
    return {s: [(f"{s.stem}.o", f"g++ -O3{more.get(s.stem, '')} -o {s.stem}.o -c {s}")] for s in sources}


def test_names_of_their_own_keep_files_apart(tmp_path: Path) -> None:
    dot = f"{HEAD}double dot(const double* a) {{\n    return *a;\n}}\n{END}"
    mentions = f"{HEAD}double length(const double* a) {{\n    return a->dot;\n}}\n{END}"
    speaks = f'{HEAD}// dot products\nconst char* kName = "dot";\n{END}'
    sources = files(tmp_path, one=dot, other=dot, mentions=mentions, speaks=speaks)
    assert names(together(sources, compiled(sources))) == [["mentions"], ["one", "speaks"], ["other"]]


def test_what_a_header_declares_is_nobodys_own_and_hides_what_is(tmp_path: Path) -> None:
    shared = f"{HEAD}int x = 1;\n{END}void study::run(Block& block) {{\n    (void)block;\n}}\n"
    hides = f"{HEAD}int run = 1;\n{END}"
    sources = files(tmp_path, shared=shared, user=f"{HEAD}int y = 2;\n{END}", hides=hides)
    assert own_names(sources[0]) == {"x"}
    assert names(together(sources, compiled(sources))) == [["hides"], ["shared", "user"]]


def test_files_that_are_compiled_otherwise_or_by_nothing_stay_apart(tmp_path: Path) -> None:
    sources = files(tmp_path, **{f"f{i}": f"{HEAD}int x{i} = {i};\n{END}" for i in range(20)})
    made = compiled(sources[:-1], f3=" -mavx2")
    found = names(together(sources, made))
    assert sorted(map(len, found)) == [1, 1, 6, 12] and ["f3"] in found and ["f19"] in found
    assert how(made[sources[0]][0][1], sources[0]).split() == ["g++", "-O3"]


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("constexpr std::size_t kMost = 400, kLeast[2] = {1, 2};", {"kMost", "kLeast"}),
        ("enum Flag : int { kUpdate = 0, kFirst = 1 };", {"Flag"}),
        ("template <class T> class __attribute__((packed)) Held {", {"Held"}),
        ("void moments(nw_run* run, const Block& block) {", {"moments"}),
        ("const std::vector<int> sizes{1, 2};", {"sizes"}),
        ("using json = nlohmann::json;", set()),
    ],
)
def test_names_that_are_given(line: str, given: set[str]) -> None:
    assert given_in(line) == given


def test_a_fault_in_one_of_several_files_is_found_by_each_check(tmp_path: Path) -> None:
    tidy = Path(sys.executable).with_name("clang-tidy")
    folder = tmp_path / "native"
    folder.mkdir()
    sources = files(folder, **{re.sub(r"\W", "_", check): f"{HEAD}{text}{END}" for check, text in FAULTS.items()})
    assert len(together(sources, compiled(sources))) == 1
    one = tmp_path / "one.cpp"
    one.write_text(one_text(sources))
    words = [
        tidy,
        "--quiet",
        f"--config-file={ROOT / '.clang-tidy'}",
        one,
        "--",
        "-std=c++20",
        "-Wall",
        "-Wextra",
        f"-iquote{folder}",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [check for check in FAULTS if f"[{check}" not in done.stdout] == []
