# SPDX-License-Identifier: BSD-3-Clause
"""Lines of Python broken on purpose: which places of a file can be, how, and the module with one of them broken.

What a reader would call another behaviour is changed: a comparison, a condition, a number, a word that programs compare, an
operator, what is returned, a call whose value nobody takes, an argument. Sentences are left alone, and so are annotations, docstrings,
decorators, and whether a zip is strict.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLED = {
    **{"min": "max", "max": "min", "any": "all", "all": "any", "startswith": "endswith", "endswith": "startswith"},
    **{
        "minimum": "maximum",
        "maximum": "minimum",
        "argmin": "argmax",
        "argmax": "argmin",
        "floor": "ceil",
        "ceil": "floor",
    },
}
#: A text without spaces is a word that something is compared with or named by; others are sentences.
_WORD = re.compile(r"\S+")
#: Fields that hold no behaviour.
_SKIPPED = {"annotation", "returns", "decorator_list", "type_params", "type_comment", "format_spec"}


@dataclass(frozen=True)
class Mutant:
    """One change of one place. `node` and `variant` find it again in the parsed file; `kind` says what was changed."""

    path: Path
    line: int
    function: str
    kind: str
    before: str
    after: str
    node: int
    variant: int

    @property
    def change(self) -> str:
        """In words that stay the same where lines move."""
        return f"{self.before} → {self.after}"


#: What breaks a node: the kind of change, the changed node (None: the statement is left out), and how to write both.
_Change = tuple[str, ast.AST | None]


def _constant(node: ast.Constant) -> Iterator[_Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "number", ast.Constant(value + 1)
    elif isinstance(value, float):
        yield "number", ast.Constant(value * 2 if value else 1.0)
    elif isinstance(value, str) and _WORD.fullmatch(value):
        yield "word", ast.Constant("x" + value)


def _call(node: ast.Call) -> Iterator[_Change]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if other := _CALLED.get(name):
        made = copy.deepcopy(node)
        if isinstance(made.func, ast.Name):
            made.func.id = other
        elif isinstance(made.func, ast.Attribute):
            made.func.attr = other
        yield "call", made
    for i, word in enumerate(node.keywords):
        # what a zip checks of itself
        if (name, word.arg) == ("zip", "strict"):
            continue
        made = copy.deepcopy(node)
        del made.keywords[i]
        yield "argument", made
    if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
        made = copy.deepcopy(node)
        made.args.pop()
        yield "argument", made


def _negated(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )


def _conditions(node: ast.AST) -> Iterator[_Change]:
    """Conditions that are no comparison, which is changed by itself."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(node.test, ast.Compare):
        made = copy.copy(node)
        made.test = _negated(node.test)
        yield "condition", made
    if isinstance(node, ast.comprehension):
        for i in range(len(node.ifs)):
            made_for = copy.copy(node)
            made_for.ifs = [*node.ifs[:i], *node.ifs[i + 1 :]]
            yield "condition", made_for


def _statements(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield "return", ast.Return(ast.Constant(None))
    if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await)):
        yield "statement", None
    if isinstance(node, (ast.Raise, ast.Delete)):
        yield "statement", None
    if isinstance(node, ast.AugAssign) and (other := _COUNTED.get(type(node.op))):
        yield "operator", ast.AugAssign(node.target, other(), node.value)
    if isinstance(node, ast.Break):
        yield "statement", ast.Continue()
    if isinstance(node, ast.Continue):
        yield "statement", ast.Break()


def _operators(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in _COMPARED[type(op)]:
                made = copy.copy(node)
                made.ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                yield "comparison", made
    if isinstance(node, ast.BoolOp):
        yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.BinOp) and (swapped := _COUNTED.get(type(node.op))):
        yield "operator", ast.BinOp(node.left, swapped(), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        yield "operator", node.operand


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _changes(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Constant):
        yield from _constant(node)
    if isinstance(node, ast.Call):
        yield from _call(node)
    for kind in (_conditions, _statements, _operators):
        yield from kind(node)


def _is_prose(node: ast.AST) -> bool:
    """A docstring, or what only a type checker reads."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _walk(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, ast.AST, str, str, int | None]]:
    """Each node with its parent, the field and place there, and the function that it is in."""
    for field, held in ast.iter_fields(node):
        if field in _SKIPPED or (isinstance(node, ast.AnnAssign) and field == "target"):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        for at, child in enumerate(held) if isinstance(held, list) else [(None, held)]:
            if not isinstance(child, ast.AST) or _is_prose(child):
                continue
            # an f-string's texts are part of a sentence
            if isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant):
                continue
            named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            inside = f"{function}.{child.name}".lstrip(".") if named else function  # type: ignore[attr-defined]
            yield node, child, inside, field, at
            yield from _walk(child, inside)


def _written(node: ast.AST | None) -> str:
    """On one line; of a statement with a body its head, of a loop in brackets its words."""
    if node is None:
        return "nothing"
    if isinstance(node, (ast.If, ast.While)):
        node = node.test
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:97] + "…"


def _what(node: ast.AST, made: ast.AST | None) -> tuple[str, str]:
    """The change as it is told; of long calls the argument that goes."""
    if isinstance(node, ast.Call) and isinstance(made, ast.Call):
        gone = [k for k in node.keywords if ast.dump(k) not in {ast.dump(m) for m in made.keywords}]
        name = _written(node.func)
        if gone:
            return f"{name}({_written(gone[0])})", f"{name}()"
        if len(made.args) < len(node.args):
            return f"{name}(…, {_written(node.args[-1])})", f"{name}(…)"
        return name, _written(made.func)
    return _written(node), _written(made)


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All of a file's, in the order of its lines. `path` in them is from `root`."""
    found: list[Mutant] = []
    for number, (_, node, function, _, _) in enumerate(_walk(ast.parse(path.read_text()))):
        for variant, (kind, made) in enumerate(_changes(node)):
            before, after = _what(node, made)
            line = getattr(node, "lineno", 0) or _line_of(node)
            found.append(Mutant(path.relative_to(root), line, function, kind, before, after, number, variant))
    return found


def _line_of(node: ast.AST) -> int:
    return min((n.lineno for n in ast.walk(node) if hasattr(n, "lineno")), default=0)


def broken(mutant: Mutant, root: Path) -> ast.Module:
    """The module with that place broken."""
    tree = ast.parse((root / mutant.path).read_text())
    for number, (parent, node, _, field, at) in enumerate(_walk(tree)):
        if number != mutant.node:
            continue
        made = list(_changes(node))[mutant.variant][1] or ast.Pass()
        if at is None:
            setattr(parent, field, made)
        else:
            getattr(parent, field)[at] = made
        ast.copy_location(made, node)
        break
    return ast.fix_missing_locations(tree)


Chooser = Callable[[Mutant], bool]
