# SPDX-License-Identifier: BSD-3-Clause
"""Lines of C++ broken on purpose: what is changed, what is left alone, and which tests bear on it."""

import os
from pathlib import Path

import pytest

from nodewise.base.native import native_path
from tools import mutant_tests, native_mutants
from tools.mutate import sources

CODE = """// Says whether a < b is "so".
#include <map>

namespace n {

bool is_so(const std::vector<int>& list, int most) {
    // at most 3 && no more
    if (list.empty()) {
        return false;
    }
    int found = 0;
    for (int i = 0; i < most; ++i) {
        found += list[i] == 7 && name == "word" ? 1 : 2;
        note(found);
    }
    return found > std::max(most, 5);
}

}  // namespace n
"""


@pytest.fixture
def mutants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[native_mutants.Mutant]:
    """All of CODE."""
    monkeypatch.setattr(native_mutants, "ROOT", tmp_path)
    (tmp_path / "code.cpp").write_text(CODE)
    return native_mutants.mutants_of(tmp_path / "code.cpp")


def test_operators_numbers_texts_conditions_and_statements_are_changed(mutants: list[native_mutants.Mutant]) -> None:
    after = {m.after for m in mutants}
    line = 'found += list[i] == 7 && name == "word" ? 1 : 2;'
    assert after >= {
        "if (!(list.empty())) {",
        "return true;",
        "int found = 1;",
        "for (int i = 0; i <= most; ++i) {",
        "for (int i = 0; i >= most; ++i) {",
        "for (int i = 0; i < most; --i) {",
        line.replace("== 7", "!= 7"),
        line.replace("&&", "||"),
        line.replace('"word"', '"xword"'),
        line.replace("+=", "-="),
        line.replace("7", "8"),
        "nothing",
        "return found > std::min(most, 5);",
        "return found <= std::max(most, 5);",
    }


def test_comments_directives_and_types_are_left_alone(mutants: list[native_mutants.Mutant]) -> None:
    assert {m.line for m in mutants} <= set(range(8, 17))
    assert {m.function for m in mutants} == {"is_so"}


def test_each_breaks_one_line(mutants: list[native_mutants.Mutant]) -> None:
    for mutant in mutants:
        made = native_mutants.broken(mutant).splitlines()
        changed = [n for n, (a, b) in enumerate(zip(CODE.splitlines(), made, strict=True), 1) if a != b]
        assert changed == [mutant.line], mutant


def test_its_tests_are_those_of_its_layer_that_speak_of_it() -> None:
    own, rest = mutant_tests.tests_of(Path("native/runner/conditions.cpp"))
    assert [t.name for t in own] == ["test_conditions.py"]
    assert rest and all("conditions" in t.read_text() and t.parent.name == "runner" for t in rest)


def test_only_sources_of_the_program_can_be_broken() -> None:
    (found,) = sources(["native/runner/conditions.cpp"])
    assert found == native_mutants.FOLDER / "conditions.cpp"
    for name in ("native/machine/topology.cpp", "nowhere"):
        with pytest.raises(SystemExit, match=f"{name} is no module of src/nodewise and no source of nodewise-runner"):
            sources([name])


@pytest.mark.long
def test_a_broken_source_makes_a_program_with_all_that_the_build_links(tmp_path: Path) -> None:
    native = native_path(native_mutants.PROGRAM).parent
    mutant = native_mutants.mutants_of(native_mutants.FOLDER / "conditions.cpp")[0]
    made = native_mutants.build(mutant, native_mutants.broken(mutant), native, tmp_path)
    assert made is not None and os.access(made / native_mutants.PROGRAM, os.X_OK)
    assert native_mutants.build(mutant, "no C++", native, tmp_path / "..") is None
