# SPDX-License-Identifier: BSD-3-Clause
"""Draws the house from the code: what each package holds, and which it imports, as the picture in CONTRIBUTING.md."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_SOURCES = _ROOT / "src/nodewise"
PAGE = _ROOT / "CONTRIBUTING.md"
_BEGIN, _END = "<!-- house: made by tools/house.py -->\n", "<!-- end of house -->"


def packages() -> dict[str, str]:
    """The packages of nodewise with the first line of what each says of itself. Raises ValueError where one says nothing."""
    found = {}
    for init in sorted(_SOURCES.glob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(init.read_text()))
        if not text:
            raise ValueError(f"{init} has no docstring")
        found[init.parent.name] = text.splitlines()[0].rstrip(".")
    return found


@cache
def statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports of a file, anywhere in it."""
    found: list[ast.Import | ast.ImportFrom] = []
    left: list[ast.AST] = [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        # in an expression there is none
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            left += inner if isinstance(inner, list) else []
    return tuple(found)


def imports(package: str, known: set[str]) -> set[str]:
    """The other packages that one imports, anywhere in its files."""
    names: set[str] = set()
    for path in (_SOURCES / package).rglob("*.py"):
        for node in statements(path):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            else:
                names.add(f"{node.module}")
    return {n.split(".")[1] for n in names if n.startswith("nodewise.")} & known - {package}


def direct(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The edges that no longer way replaces (transitive reduction). Raises ValueError where `edges` has a circle."""

    @cache
    def below(package: str) -> set[str]:
        return edges[package].union(*(below(p) for p in edges[package]))

    try:
        TopologicalSorter(edges).prepare()
    except CycleError as problem:
        raise ValueError(f"packages import one another in a circle: {' → '.join(problem.args[1])}") from problem

    return {p: {t for t in to if not any(t in below(o) for o in to - {t})} for p, to in edges.items()}


def house() -> str:
    """The picture, as Mermaid draws it."""
    held = packages()
    edges = direct({p: imports(p, set(held)) for p in held})
    lines = ["```mermaid", "flowchart BT"]
    lines += [f'    {p}["<b>{p}</b><br>{text}"]' for p, text in held.items()]
    lines += [f"    {p} --> {to}" for p in held for to in sorted(edges[p])]
    return "\n".join([*lines, "```", ""])


def with_house(page: str) -> str:
    """The page with the picture between its marks. Raises ValueError where they are not there."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"no {_BEGIN.strip()} … {_END} in the page")
    return before + begin + house() + end + after


if __name__ == "__main__":
    PAGE.write_text(with_house(PAGE.read_text()))
