# SPDX-License-Identifier: BSD-3-Clause
"""Constraints between axes, as a user writes them: `ranks * threads <= 64`, `chunk == 1 or schedule != "static"`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant

#: Characters and levels that are read: a longer condition is a slip, and one that is nested deeply has no place on the stack.
_LONGEST, _DEEPEST = 2000, 100

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


@dataclass(frozen=True)
class Constraint:
    """A condition on a point. `names` are the axes that it speaks of."""

    text: str
    tree: ast.expr
    names: frozenset[str]

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Whether a point meets it. Values that look like numbers count as such. A division by zero does not meet it.

        Raises InputError where it cannot be worked out, such as a comparison of a text with a number.
        """
        try:
            return bool(_value(self.tree, point))
        except ZeroDivisionError:
            return False
        except (TypeError, OverflowError) as problem:
            raise InputError(f"the constraint {self.text!r} cannot be worked out: {problem}") from problem


def parse_constraint(text: str, axes: Collection[str]) -> Constraint:
    """Read a condition in Python's words: names of axes (`-` written as `_`), numbers, texts, comparisons, and, or, not.

    Raises InputError where it is none, or names an axis that is not there.
    """
    if len(text) > _LONGEST:
        raise InputError(f"the constraint {text[:60]!r}… has {len(text)} characters", f"{_LONGEST} are read")
    try:
        tree = ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError) as problem:
        raise _too_deep(text) from problem
    except (SyntaxError, ValueError) as problem:
        if "too many nested" in str(problem):
            raise _too_deep(text) from problem
        # a ValueError: a byte that is no text, or a null
        at = problem.offset if isinstance(problem, SyntaxError) else None
        where = f"at character {at or len(text.rstrip()) + 1}" if isinstance(problem, SyntaxError) else "as text"
        raise InputError(
            f"the constraint {text!r} cannot be read {where}", "write it such as --constraint 'ranks * threads <= 64'"
        ) from problem
    if _depth(tree) > _DEEPEST:
        raise _too_deep(text)
    known = {name.replace("-", "_"): name for name in axes}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id not in known:
                raise InputError(
                    f"the constraint {text!r} speaks of {node.id}, which is no axis here{meant(node.id, known)}",
                    f"the axes are: {', '.join(sorted(known)) or 'none'}",
                )
            names.add(known[node.id])
            node.id = known[node.id]
    constraint = Constraint(text, tree, frozenset(names))
    _check(tree, text)
    return constraint


def _too_deep(text: str) -> InputError:
    return InputError(f"the constraint {text[:60]!r}… is nested too deeply", f"{_DEEPEST} levels are read")


def _depth(tree: ast.AST) -> int:
    """How many levels a tree has; counted without recursion, which has an end of its own."""
    levels, here = 0, [tree]
    while here:
        levels, here = levels + 1, [child for node in here for child in ast.iter_child_nodes(node)]
    return levels


_ALLOWED = (
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Compare,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    *_BINARY,
    *_COMPARE,
)


def _check(tree: ast.expr, text: str) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or (
            isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str)
        ):
            raise InputError(
                f"the constraint {text!r} holds more than a comparison: {ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__}",
                "names of axes, numbers, texts, + - * / // %, comparisons, in, and, or, not may be used",
            )


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _operand(node: ast.expr, point: Mapping[str, Any]) -> int | float:
    """What is reckoned with: a number; Python would also repeat a text, or put values into it."""
    value = _value(node, point)
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{value!r} is no number")


def _value(node: ast.expr, point: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return _number(point[name])
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [_value(part, point) for part in parts]
        case ast.BoolOp(op=op, values=parts):
            wanted = isinstance(op, ast.Or)
            return wanted if any(bool(_value(part, point)) is wanted for part in parts) else not wanted
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, point)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_operand(inner, point)
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_operand(left, point), _operand(right, point))
        case ast.Compare(left=left, ops=ops, comparators=rights):
            values = [_value(part, point) for part in (left, *rights)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, values[:-1], values[1:], strict=True))
    raise InputError(f"cannot work out {ast.unparse(node)}")
