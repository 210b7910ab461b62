# SPDX-License-Identifier: BSD-3-Clause
"""Imports point one way: a layer sees those on its left and nothing else; the same holds for the native code."""

import ast
import re
from pathlib import Path

import pytest

from tools import house

ROOT = Path(__file__).parent.parent
LAYERS = [
    *(
        "markers",
        "base",
        "machine",
        "placement",
        "runner",
        "statistics",
        "search",
        "vectorization",
        "profile",
        "studies",
    ),
    *(
        "isolation",
        "pipelines",
        "quiet",
        "fabric",
        "nodes",
        "records",
        "tuning",
        "jobs",
        "verdicts",
        "history",
        "experiments",
        "report",
        "api",
        "cli",
    ),
]
NATIVE = [
    "abi",
    "simd",
    "simd_math",
    "json",
    "machine",
    "pin",
    "runner",
    "isolation",
    "transport",
    "worker",
    "bindings",
    "fuzz",
]
#: The one door to the native core, and who may look for its files.
CORE_USERS = {"machine/hwloc.py", "machine/sources.py", "base/native.py"}


def _imports(path: Path) -> list[str]:
    names = []
    for node in house.statements(path):
        if isinstance(node, ast.Import):
            names += [a.name for a in node.names]
        else:
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{a.name}" for a in node.names]
    return [n for n in names if n.startswith("nodewise.")]


def _dotted(node: ast.AST) -> str:
    """A name, or one of a module, as it is written; empty for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def upward_imports(root: Path) -> list[str]:
    """Every import of a layer further right, as `file imports name`."""
    found = []
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if len(inside.parts) == 1:
            continue
        if inside.parts[0] not in LAYERS:
            found.append(f"{inside} is in no layer")
            continue
        for name in _imports(path):
            target = name.split(".")[1]
            if target in LAYERS and LAYERS.index(target) > LAYERS.index(inside.parts[0]):
                found.append(f"{inside} imports {name}")
            if target == "_core" and str(inside) not in CORE_USERS:
                found.append(f"{inside} imports {name}")
    return found


def test_python_imports_point_left() -> None:
    assert upward_imports(ROOT / "src/nodewise") == []


def test_an_upward_import_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine/bad.py").write_text("from nodewise.search.space import Point\nfrom nodewise import _core\n")
    (tmp_path / "attic").mkdir()
    (tmp_path / "attic/new.py").touch()
    assert len(upward_imports(tmp_path)) == 3


def test_statistics_are_pure_functions_on_numbers() -> None:
    allowed = ("nodewise.base.", "nodewise.statistics.")
    for path in (ROOT / "src/nodewise/statistics").glob("*.py"):
        assert all(name.startswith(allowed) for name in _imports(path)), path


def test_a_search_sees_points_and_costs_alone() -> None:
    allowed = ("nodewise.base.", "nodewise.statistics.", "nodewise.search.")
    for path in (ROOT / "src/nodewise/search").rglob("*.py"):
        assert all(name.startswith(allowed) for name in _imports(path)), path


def test_the_house_is_drawn_as_it_is() -> None:
    page = house.PAGE.read_text()
    assert house.with_house(page) == page, "draw it again: .venv/bin/python tools/house.py"
    # as test_python_imports_point_left holds, no arrow goes up
    assert set(house.packages()) == set(LAYERS)


def test_of_several_ways_the_longest_is_drawn() -> None:
    edges = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"c", "a"}}
    assert house.direct(edges) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"c"}}


def test_a_circle_of_packages_is_named() -> None:
    with pytest.raises(ValueError, match=r"in a circle: (a → b → a|b → a → b)"):
        house.direct({"a": {"b"}, "b": {"a"}, "c": {"a"}})


def test_native_includes_point_left() -> None:
    for path in sorted((ROOT / "native").rglob("*.[ch]*")):
        layer = path.relative_to(ROOT / "native").parts[0]
        if layer == "CMakeLists.txt":
            continue
        assert layer in NATIVE, f"{path} is in no layer"
        for target in set(re.findall(r'#include "(\w+)/', path.read_text())) - {"hwy"}:
            assert NATIVE.index(target) <= NATIVE.index(layer), f"{path} includes {target}"


def test_only_the_bindings_know_python() -> None:
    for path in (ROOT / "native").rglob("*.[ch]*"):
        if "bindings" not in path.parts:
            assert "nanobind" not in path.read_text(), path


def test_only_one_file_compiles_the_library_of_json() -> None:
    # which takes five seconds in each
    assert [p.name for p in (ROOT / "native").rglob("*.[ch]*") if "<nlohmann/" in p.read_text()] == ["json.cpp"]


def _folders_of_studies() -> list[Path]:
    shelves = [ROOT / "src/nodewise/studies", ROOT / "studies/nodewise_studies"]
    return [path.parent for shelf in shelves for path in shelf.glob("*/study.py")]


def test_a_study_sees_what_is_for_studies_and_no_other_study() -> None:
    for own in _folders_of_studies():
        for path in own.rglob("*"):
            if path.suffix in (".cpp", ".h"):
                for included in re.findall(r'#include "([^"]+)"', path.read_text()):
                    shared = included == "transport/transport.h" or included.startswith(
                        ("abi/", "hwy/", "simd/", "simd_math/")
                    )
                    file = (path.parent / included).resolve()
                    assert shared or (file.exists() and file.is_relative_to(own)), f"{path}: {included}"


def test_the_other_distribution_holds_studies_alone() -> None:
    """What they share is the engine's, where a user's own study finds it, too."""
    inside = ROOT / "studies/nodewise_studies"
    kept = {p.relative_to(inside).parts[0] for p in inside.rglob("*.*") if "__pycache__" not in p.parts}
    assert kept - {folder.name for folder in _folders_of_studies()} == {"__init__.py", "conftest.py"}


def test_a_study_imports_the_engine_and_its_own_files_by_a_dot() -> None:
    """Then its folder runs wherever it lies; what imports it are its tests alone."""
    allowed = {"base", "isolation", "machine", "statistics", "studies"}
    for own in _folders_of_studies():
        for path in own.rglob("*.py"):
            for node in house.statements(path):
                if isinstance(node, ast.ImportFrom) and node.level == 0 and not path.name.startswith("test_"):
                    top, *rest = str(node.module).split(".")
                    assert top != "nodewise_studies", f"{path}: {node.module}"
                    assert top != "nodewise" or rest[0] in allowed, f"{path}: {node.module}"
                elif isinstance(node, ast.ImportFrom) and node.level:
                    assert node.level <= len(path.relative_to(own).parts), f"{path} imports from outside its folder"


def test_the_header_that_a_studys_files_share_is_study_h() -> None:
    """Where there are several; a table by itself needs none."""
    for own in _folders_of_studies():
        declaring = {path.name for path in own.glob("*.h") if re.search(r"\bint layout\(nw_run", path.read_text())}
        assert declaring == {"study.h"} or (not declaring and len([*own.rglob("*.cpp")]) == 1), own


def test_the_engine_knows_nothing_of_the_other_distribution() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        assert "nodewise_studies" not in path.read_text(), path


def test_only_the_command_line_prints_or_exits() -> None:
    for path in (ROOT / "src/nodewise").rglob("*.py"):
        inside = path.relative_to(ROOT / "src/nodewise")
        # programs of their own, that others start
        if inside.parts[0] not in LAYERS[:-1] or str(inside) in ("studies/peer_worker.py", "pipelines/rank.py"):
            continue
        # most files name none of them, and need not be parsed
        if not re.search(r"\b(print|exit|echo)\b", text := path.read_text()):
            continue
        names = {_dotted(n.func) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)}
        assert not names & {"print", "sys.exit", "exit", "click.echo"}, inside


def test_verdicts_and_reports_are_made_of_values_alone() -> None:
    """What a process was started with, and where, is no part of what was recorded."""
    live = {"sys.argv", "os.environ", "os.getenv", "os.getcwd", "Path.cwd"}
    for path in [p for room in ("verdicts", "report") for p in (ROOT / "src/nodewise" / room).rglob("*.py")]:
        if not re.search(r"\b(argv|environ|getenv|getcwd|cwd)\b", text := path.read_text()):
            continue
        read = {_dotted(n) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute)}
        assert not read & live, path


def test_files_stay_short() -> None:
    rooms = ("src", "native", "studies/nodewise_studies", "tests", "tools", "benchmarks")
    for path in [p for room in rooms for kind in ("*.py", "*.cpp", "*.h") for p in (ROOT / room).rglob(kind)]:
        assert len(path.read_text().splitlines()) <= 500, f"{path} is longer than 500 lines"
