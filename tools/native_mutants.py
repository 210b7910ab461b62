# SPDX-License-Identifier: BSD-3-Clause
"""Lines of C++ broken on purpose, and the program that is made of them.

There is no parser here: what is changed follows from the project's format (clang-format writes a blank on both sides of an operator of
two operands, and functions begin in the first column). What the compiler refuses is no mutant.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.mutants import Mutant

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "native"
BUILD = ROOT / "build/Release"
#: The program that is made of these sources.
PROGRAM, FOLDER = "nodewise-runner", NATIVE / "runner"

_PROSE = re.compile(r"//[^\n]*|^\s*#[^\n]*|'(?:\\.|[^'\\\n])'", re.MULTILINE)
_TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|<|>|&&|\|\||\+|-|\*|/|\+=|-=|\*=)(?= )|(?<=\W)(\+\+|--|!(?!=))(?=[\w(*])")
_NUMBER = re.compile(r"(?<![\w.\"])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
_NAME = re.compile(r"\b(true|false|std::max|std::min|break|continue)\b")
_CONDITION = re.compile(r"(?<=\bif \()(?!.*(?: [<>]=? | [!=]= |=))(.+)(?=\) \{$)", re.MULTILINE)
_STATEMENT = re.compile(r"(?<=\n)[ ]+(?!return\b)[\w.>:\[\]()*\"-]+?(?:\(.*\)| [-+*]?= [^\n]*);(?=\n)")
_FUNCTION = re.compile(r"^(?![ }/#])[^\n=]*?([\w~:]+)\(", re.MULTILINE)

_OTHERS = {
    **{"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)},
    **{"&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",)},
    **{"+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "++": ("--",), "--": ("++",), "!": ("",)},
    **{"true": ("false",), "false": ("true",), "break": ("continue",), "continue": ("break",)},
    **{"std::max": ("std::min",), "std::min": ("std::max",)},
}


def _number(text: str) -> str:
    """Another one."""
    if re.fullmatch(r"\d+", text):
        return str(int(text) + 1)
    return repr(2 * float(text)) if float(text) else "1.0"


def _blanked(code: str) -> str:
    """The code with blanks in place of comments, directives and characters."""
    return _PROSE.sub(lambda found: " " * len(found[0]), code)


def _changes(code: str) -> Iterator[tuple[str, int, int, str]]:
    """The kind of each change, from where to where it goes, and what stands there then."""
    plain = _blanked(code)
    bare = _TEXT.sub(lambda found: '"' + " " * len(found[1]) + '"', plain)
    for found in _OPERATOR.finditer(bare):
        for other in _OTHERS[found[0]]:
            yield "operator", *found.span(), other
    for found in _NUMBER.finditer(bare):
        yield "number", *found.span(), _number(found[0])
    for found in _NAME.finditer(bare):
        for other in _OTHERS[found[0]]:
            yield "word", *found.span(), other
    for found in _TEXT.finditer(plain):
        yield "text", found.start(1), found.end(1), "x" + found[1]
    for found in _CONDITION.finditer(bare):
        yield "condition", *found.span(), f"!({code[slice(*found.span())]})"
    for found in _STATEMENT.finditer(bare):
        yield "statement", *found.span(), ";"


def _told(code: str, start: int, end: int, other: str) -> tuple[str, str]:
    """The change in words that stay the same where lines move: what stands in the line before and after."""
    first = code.rfind("\n", 0, start) + 1
    last = code.find("\n", end)
    line, made = code[first:last], code[first:start] + other + code[end:last]
    return " ".join(line.split()), " ".join(made.split()) if made.strip() != ";" else "nothing"


def mutants_of(path: Path) -> list[Mutant]:
    """All of a file's, in the order of its lines. `path` in them is from the top of the checkout."""
    code = path.read_text()
    functions = [(found.start(), found[1]) for found in _FUNCTION.finditer(_blanked(code))]
    made = []
    for number, (kind, start, end, other) in enumerate(_changes(code)):
        inside = next((name for at, name in reversed(functions) if at <= start), "")
        before, after = _told(code, start, end, other)
        line = code.count("\n", 0, start if kind != "statement" else end) + 1
        made.append(Mutant(path.relative_to(ROOT), line, inside, kind, before, after, number, 0))
    return sorted(made, key=lambda m: (m.line, m.node))


def broken(mutant: Mutant) -> str:
    """The source with that place broken."""
    code = (ROOT / mutant.path).read_text()
    for number, (_, start, end, other) in enumerate(_changes(code)):
        if number == mutant.node:
            return code[:start] + other + code[end:]
    raise AssertionError(mutant)


def build(mutant: Mutant, source: str, native: Path, folder: Path) -> Path | None:
    """A folder like `native`, where the programs lie, with the broken one in it; None where the compiler refuses the source."""
    (folder / "broken.cpp").write_text(source)
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    words = next(
        shlex.split(e["command"])
        for e in entries
        if Path(e["file"]) == ROOT / mutant.path and f"{PROGRAM}.dir" in e["command"]
    )
    at = words.index("-o")
    kept = [w for w in words[:at] if w != "-O3"]
    compiled = subprocess.run(
        [*kept, "-w", f"-I{FOLDER}", "-o", str(folder / "broken.o"), "-c", str(folder / "broken.cpp")],
        capture_output=True,
        check=False,
    )
    if compiled.returncode:
        return None
    made = folder / "native"
    made.mkdir()
    for other in native.iterdir():
        if other.name != PROGRAM:
            (made / other.name).symlink_to(other)
    link(made / PROGRAM, {f"{mutant.path.name}.o": folder / "broken.o"})
    return made


def link(program: Path, instead: Mapping[str, Path]) -> None:
    """The program as the build links it, with other objects instead of those named. Exits where it does not link, which is no mutant's fault."""
    asked = ["ninja", "-C", str(BUILD), "-t", "commands", "-s", f"{FOLDER.relative_to(ROOT)}/{PROGRAM}"]
    command = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    # ninja's own `: && COMMAND && :` around it
    words = [w for w in shlex.split(command) if w not in (":", "&&")]
    words = [str(instead.get(Path(w).name, w)) for w in words]
    words[words.index("-o") + 1] = str(program)
    done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {PROGRAM} does not link:\n{done.stderr[-2000:]}")
