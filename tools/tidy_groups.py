# SPDX-License-Identifier: BSD-3-Clause
"""Native sources that can be looked at as one text: compiled alike, and without a name in one that means another thing in the other.

What is seen of names is their spelling, by clang-format's layout: outermost is what begins at the beginning of a line. Where that
misses one the text does not compile, and its files are looked at one by one.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: A text of more files would keep one processor while the others have nothing to do.
MOST_TOGETHER = 12
#: Of a command, what says which file is compiled, and nothing of how.
_OF_ONE_FILE = re.compile(r" (?:-o|-c|-MF|-MT) \S+| -MD\b")
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
#: What begins at the beginning of a line, and there a name that is given: of a type, a function, a constant.
_UNNAMED = re.compile(r"^namespace \{\n(.*?)^\} +$", re.MULTILINE | re.DOTALL)
_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_OUTERMOST = re.compile(r"^[A-Za-z_\[].*", re.MULTILINE)
_TYPE = re.compile(r"(?:template ?<.*> ?)?(?:class|struct|union|enum(?: class)?|concept) (?:\w+\(.*\) )?(\w+)")
_FUNCTION = re.compile(r"[^(={;]*?([A-Za-z_]\w*)\(")
_VALUE = re.compile(r"(?<![:= ])[ ]([A-Za-z_]\w*)(?:\[\w*\])* ?[={;]")


def how(command: str, source: Path) -> str:
    """A compiler's command without what says which file is compiled."""
    return _OF_ONE_FILE.sub("", command).removesuffix(str(source))


@cache
def code_of(file: Path) -> str:
    """A file without comments and texts."""
    return _NO_CODE.sub("", file.read_text())


def given_in(code: str) -> set[str]:
    """Names that a text gives to what is outermost; not those that it only takes over from elsewhere."""
    names: set[str] = set()
    for line in _OUTERMOST.findall(code):
        if line.startswith(("using ", "namespace ", "static_assert", "extern ")):
            continue
        one = _TYPE.match(line) or _FUNCTION.match(line)
        names |= {one[1]} if one else set(_VALUE.findall(line))
    return names - {"__attribute__"}


@cache
def given_by_headers(file: Path) -> frozenset[str]:
    """Outermost names of the headers of ours that a file includes."""
    names: set[str] = set()
    for name in _INCLUDED.findall(file.read_text()):
        for header in (file.parent / name, ROOT / "native" / name):
            if header.is_file():
                names |= given_in(code_of(header)) | given_by_headers(header)
    return frozenset(names)


@cache
def words_of(source: Path) -> frozenset[str]:
    """All names in a file, and those that its headers give."""
    highway = ["hwy"] if '"hwy/' in source.read_text() or "<hwy/" in source.read_text() else []
    return frozenset([*_NAME.findall(code_of(source)), *highway]) | given_by_headers(source)


@cache
def own_names(source: Path) -> frozenset[str]:
    """Names that a file gives to what no other one can see."""
    own = frozenset(name for part in _UNNAMED.findall(code_of(source)) for name in given_in(part))
    # what Highway compiles for each instruction set is one to a text, as what begins a program is
    return own | (words_of(source) & {"hwy", "main"})


def one_text(sources: list[Path]) -> str:
    """What the files say, one after the other: of what is included only a part is looked at."""
    return "\n".join(source.read_text() for source in sources)


def together(sources: list[Path], made: dict[Path, list[tuple[str, str]]]) -> list[list[Path]]:
    """The files in groups: of each group all are of one folder and compiled alike, and none has a name of its own that another one mentions."""
    alike: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for source in sources:
        # what nothing is made of has no command
        alike[source.parent, how(made[source][0][1], source) if source in made else str(source)].append(source)
    groups: list[list[Path]] = []
    for several in alike.values():
        begun: list[list[Path]] = []
        for source in several:
            place = next((group for group in begun if len(group) < MOST_TOGETHER and fits(source, group)), None)
            if place is None:
                begun.append([source])
            else:
                place.append(source)
        groups += begun
    return sorted(groups, key=len, reverse=True)


def fits(source: Path, group: list[Path]) -> bool:
    """Whether no name of its own is in another file of a group, nor one of theirs in it."""
    own, words = own_names(source), words_of(source)
    return not any(own & words_of(other) or own_names(other) & words for other in group)
