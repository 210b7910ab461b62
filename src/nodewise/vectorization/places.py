# SPDX-License-Identifier: BSD-3-Clause
"""Which loop of the source each attempt belongs to.

GCC places a loop at one of its statements, which may stand in a function that was inlined there, in a loop within that is
gone, or in one that is still there. LLVM's compilers place it at its keyword, or at the directive that shares it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from nodewise.base.bounded_json import read_bounded
from nodewise.base.frozen import dataclass
from nodewise.runner.compilers.attempt import Attempt, Outcome, Place
from nodewise.runner.compilers.directives import Directive, collapsed_into, directive_at
from nodewise.runner.compilers.functions import SourceFunction, function_name
from nodewise.runner.compilers.source_loops import SourceLoop, innermost, loops_of

#: A compiler names files of any kind, as a line of the source says.
_LONGEST_HEADER = 16 << 20
_ANALYSED = (Outcome.VECTORIZED, Outcome.MISSED)


#: Constructs whose bodies become functions of their own.
_OUTLINED = {"parallel", "task", "taskloop", "target", "teams"}
#: Functions that gfortran makes for a derived type, placed at the end of its module.
_MADE = ("__final_", "__copy_", "__deallocate_")


@dataclass(frozen=True)
class Found:
    """An attempt with the loop that it is of; without one it stands at `line` of the file, or elsewhere where that is 0."""

    attempt: Attempt
    loop: SourceLoop | None = None
    line: int = 0
    made: bool = False


@dataclass
class Places:
    """A file's loops and directives, which attempts are matched with; `is_file` knows the file's names."""

    loops: tuple[SourceLoop, ...]
    directives: tuple[Directive, ...]
    is_file: Callable[[str], bool]
    folder: Path
    functions: tuple[SourceFunction, ...] = ()
    _headers: dict[str, tuple[SourceLoop, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.collapsed: Mapping[SourceLoop, SourceLoop] = collapsed_into(self.directives, self.loops)

    def of(self, attempts: Iterable[Attempt], kind: str) -> list[Found]:
        """Those of one compiler, of its `kind`, each with its loop; those of code that the compiler made are left out."""
        given = list(attempts)
        found = [self._of(a) for a in given if a.place.line]
        if kind == "gcc":
            unplaced = {a.function for a in given if not a.place.line}
            found = self._outer_first(self._without_made(self._moved(found)), unplaced)
        found += self._guessed([a for a in given if not a.place.line], {f.loop for f in found}, kind)
        return [f for f in found if f.loop is not None or not f.made]

    def _guessed(self, unplaced: Sequence[Attempt], placed: set[SourceLoop | None], kind: str) -> list[Found]:
        """Loops that the record gives no place: distinguished where the function has no others of which nothing is reported.

        Of GCC's the rest are loops that it made to hand out parts.
        """
        groups: dict[tuple[str, bool], list[Attempt]] = {}
        for a in unplaced:
            groups.setdefault((function_name(a.function).lower(), a.nest), []).append(a)
        found: list[Found] = []
        for (name, nest), several in groups.items():
            free = [
                loop
                for loop in self._loops_of(name)
                if loop not in placed and loop not in self.collapsed and self._has_inner(loop) == nest
            ]
            if len(free) != len(several) or len({a.outcome for a in several}) > 1:
                found += [Found(a, made=kind == "gcc") for a in several]
                continue
            alike = len({(a.elements, a.interleave, a.why) for a in several}) == 1
            # else which is which is not known, what became of them is
            attempts = several if alike else [replace(a, elements=None, interleave=None, why=()) for a in several]
            found += [Found(a, loop) for a, loop in zip(attempts, free, strict=True)]
        return found

    def _loops_of(self, name: str) -> list[SourceLoop]:
        """The loops of the one function of that name; none where there are several."""
        spans = [f for f in self.functions if f.name.lower() == name]
        if len(spans) != 1:
            return []
        return [loop for loop in self.loops if spans[0].line <= loop.line <= spans[0].end_line]

    def _of(self, a: Attempt) -> Found:
        first = 0
        if a.function.startswith(_MADE):
            return Found(a, made=True)
        for place in (a.place, *a.sites):
            if not self.is_file(place.file):
                if innermost(self._loops_in(place.file), place.line, place.column):
                    return Found(a)
                continue
            first = first or place.line
            directive = directive_at(self.directives, place.line)
            if directive is not None and (directive.loop or "sections" in directive.constructs):
                return Found(a, self._whole(directive.loop), made=True)
            if loop := innermost(self.loops, place.line, place.column):
                return Found(a, self._whole(loop))
            if directive is not None and not directive.statement and not directive.about_loops:
                return Found(a, made=True)
            if directive is not None and directive.statement:
                first = directive.statement
        return Found(a, line=first if self.is_file(a.place.file) else 0)

    def _whole(self, loop: SourceLoop | None) -> SourceLoop | None:
        return self.collapsed.get(loop, loop) if loop is not None else None

    def _loops_in(self, name: str) -> tuple[SourceLoop, ...]:
        if name not in self._headers:
            try:
                text = read_bounded(self.folder / name, _LONGEST_HEADER).decode(errors="replace")
            except (OSError, ValueError):
                text = ""
            self._headers[name] = loops_of(text)
        return self._headers[name]

    def _around(self, loop: SourceLoop, a: Attempt) -> SourceLoop | None:
        """The next loop outwards: in the same function, else where that was inlined."""
        if outer := self._outer(loop):
            return outer
        for site in a.sites:
            if self.is_file(site.file) and not loop.holds(site.line, site.column):
                directive = directive_at(self.directives, site.line)
                around = directive.loop if directive else innermost(self.loops, site.line, site.column)
                if around is not None and around != loop:
                    return self._whole(around)
        return None

    def _moved(self, found: Sequence[Found]) -> list[Found]:
        """Loops around others, which were placed at a statement within these, put where they belong."""
        gone = {
            (f.loop, f.attempt.function, self._sites_in(f.attempt, f.loop)) for f in found if f.loop and f.attempt.early
        }
        inner = {
            (f.loop, f.attempt.function)
            for f in found
            if f.loop and f.attempt.outcome in _ANALYSED and not f.attempt.nest and not f.made
        }
        shared = {d.loop for d in self.directives if d.loop}
        moved: list[Found] = []
        for f in found:
            loop, made = f.loop, f.made
            while loop is not None and not made and f.attempt.outcome in _ANALYSED:
                key = (loop, f.attempt.function)
                around_it = f.attempt.nest and not self._has_inner(loop) and key in inner
                if not around_it and (*key, self._sites_in(f.attempt, loop)) not in gone:
                    break
                outer = self._around(loop, f.attempt)
                if around_it and loop in shared and (outer is None or self._outlined(outer, loop)):
                    # the loop that hands out its parts
                    loop, made = None, True
                elif outer is None:
                    break
                else:
                    loop = outer
            moved.append(replace(f, loop=loop, made=made))
        return moved

    def _outer_first(self, found: Sequence[Found], unplaced: set[str]) -> list[Found]:
        """Where an inner loop was looked at more than once and the one around it never, the first time was of that one.

        GCC looks at every loop of a function, and at outer ones first. A parallel region or task is a function of its own.
        """
        seen: dict[tuple[SourceLoop, str], list[int]] = {}
        for i, f in enumerate(found):
            if f.loop:
                seen.setdefault((f.loop, f.attempt.function), []).append(i)
        done = list(found)
        for (loop, function), which in seen.items():
            first = found[which[0]]
            outer = self._around(loop, first.attempt)
            if (
                outer is not None
                and len(which) > 1
                and function not in unplaced
                and first.attempt.outcome is Outcome.MISSED
                and (outer, function) not in seen
                and not self._outlined(outer, loop)
            ):
                done[which[0]] = replace(first, loop=outer)
        return done

    def _outlined(self, outer: SourceLoop, loop: SourceLoop) -> bool:
        between = (d for d in self.directives if outer.around(loop) and outer.line < d.line < loop.line)
        return any(_OUTLINED & set(d.constructs) for d in between)

    def _outer(self, loop: SourceLoop) -> SourceLoop | None:
        outer = max((o for o in self.loops if o.around(loop)), key=lambda o: o.depth, default=None)
        return self._whole(outer)

    def _sites_in(self, a: Attempt, loop: SourceLoop) -> tuple[Place, ...]:
        """The calls through which the loop itself was inlined: those after the last that is within it."""
        within = [i for i, s in enumerate(a.sites) if self.is_file(s.file) and loop.holds(s.line, s.column)]
        return a.sites[within[-1] + 1 :] if within else a.sites

    def _has_inner(self, loop: SourceLoop) -> bool:
        return any(loop.around(o) and self.collapsed.get(o) != loop for o in self.loops)

    def _without_made(self, found: Sequence[Found]) -> list[Found]:
        """GCC places at a directive the loops that it makes for a reduction or to hand out parts, not the loop itself."""
        real = {f.loop for f in found if f.loop and not f.made}
        return [f for f in found if not (f.made and f.loop in real)]
