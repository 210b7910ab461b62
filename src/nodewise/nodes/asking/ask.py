# SPDX-License-Identifier: BSD-3-Clause
"""Asking nodes: a command is started on each, what they print is put together as it comes, and who stays silent is told with the reason.

An answer counts as soon as it is whole: nodes that fail or hang lose nobody else's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.nodes.asking.frames import Frames
from nodewise.nodes.asking.interruption import run_interruptibly
from nodewise.nodes.asking.starters import CONNECT_S, Starter
from nodewise.nodes.asking.starting import heard
from nodewise.nodes.node_names import expand, fold, without_domain

_LONGEST_REASON = 200
_WORD = re.compile(r"[A-Za-z0-9_][\w.-]*")
_LABEL = re.compile(r"([A-Za-z0-9_][\w.-]{0,63}): ")
_OWN = re.compile(r"(clush|srun|mpirun|mpiexec): (error: )?")
_ERROR = re.compile(
    r"\b(error|cannot|can't|could ?n.t|not|no|denied|refuse[sd]|fail\w*|fatal|invalid|illegal|unrecogni[sz]ed|unknown|missing)\b",
    re.IGNORECASE,
)
#: What follows a complaint and says nothing of it.
_ADVICE = re.compile(r"(try|see|usage:|for more) .*", re.IGNORECASE)
#: Open MPI says it in many lines, the last of which is no reason.
_AS_ROOT = "has detected an attempt to run as root"
_ROOTS_REFUSAL = (
    "mpirun refuses to run as root: OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or another --through"
)
#: What srun says of tasks that have ended badly, and before that what they themselves said.
_TASKS = re.compile(r"srun: error: (?P<nodes>\S+): tasks? (?P<tasks>[\d,-]+): (?P<how>.*)")
_TASK = re.compile(r"(\d{1,6}): (.*)")
_BROKEN = "nw1 "
#: States in which Slurm starts nothing on a node (sinfo(1), NODE STATE CODES); a star is one that does not answer it.
_GONE = re.compile(r".*\*|(down|drain|fail|unk|no_resp|pow|futr|inval|boot|err).*", re.IGNORECASE)
#: How timeout(1) ends where it has ended a command, and where that took a SIGKILL.
_TIMED_OUT, _KILLED = 124, 137
_LATE = re.compile(rf"exited with (exit code )?{_TIMED_OUT}\b|command timeout", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What came of one node: its text, or the reason why there is none."""

    node: str
    text: str | None
    reason: str = ""


@dataclass
class _Listener:
    """Who has answered, and what was said of those who have not."""

    nodes: Sequence[str]
    tell: Callable[[Answer], None]
    waiting: dict[str, None] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = dict.fromkeys(self.nodes)
        self._short = {without_domain(n): n for n in self.nodes}
        self._frames = Frames()
        self._words_of_task: dict[str, str] = {}
        self._of_task: dict[str, str] = {}

    def hear(self, line: str, of: str | None) -> bool:
        """Take in a line that a starter printed, of that node or, where it is None, of any; whether it is of words."""
        taken = self._frames.take(line)
        if taken is None:
            self._hear_words(" ".join(line.split()), of)
            return _BROKEN not in line
        name, text_of = taken
        label = _LABEL.match(line)
        node = of or (label and self._asked(label[1])) or self._asked(name) or name
        if text_of is not None:
            self.waiting.pop(node, None)
            self.tell(Answer(node, text_of))
        else:
            self.said.setdefault(node, "its answer did not come whole")
        return False

    def _hear_words(self, text: str, of: str | None) -> None:
        if ended := _TASKS.match(text):
            with suppress(InputError):
                tasks = expand(f"[{ended['tasks']}]")
                for name, task in zip(expand(ended["nodes"]), tasks, strict=False):
                    if node := self._asked(name):
                        self._of_task[task] = node
                        self._note(node, self._words_of_task.pop(task, ""))
                        self._note(node, f"srun: {ended['how']}")
        elif labelled := _TASK.match(text):
            # it may come before or behind what srun says of the task, which is the first to name its node
            task, words = labelled.groups()
            if node := self._of_task.get(task):
                self._note(node, words)
            else:
                self._words_of_task[task] = words
        elif text and _BROKEN not in text and (node := of or self._named(text)):
            self._note(node, text)

    def _note(self, node: str, text: str) -> None:
        """Keep what a node's command said last, and behind it what its starter says of it."""
        own = _OWN.match(text)
        words = text[own.end() if own else 0 :]
        label = _LABEL.match(words)
        if label and self._asked(label[1]) == node:
            words = words[label.end() :]
        if _AS_ROOT in words:
            words = _ROOTS_REFUSAL
        before = self.said.get(node, "")
        if words in before or not any(map(str.isalnum, words)):
            return
        if own and before:
            self.said[node] = f"{before}; {words}"
        elif not before or not (_ERROR.search(before) or _ADVICE.fullmatch(words)):
            self.said[node] = words

    def silent(self, node: str, reason: str) -> None:
        """Tell of a node that gives no answer."""
        if node in self.waiting:
            del self.waiting[node]
            self.tell(Answer(node, None, reason[:_LONGEST_REASON]))

    def _asked(self, name: str) -> str | None:
        return self._short.get(without_domain(name))

    def _named(self, text: str) -> str | None:
        """Of whom a starter speaks, where that is one node."""
        named = {node for word in _WORD.findall(text) if (node := self._asked(word.rstrip(".")))}
        return named.pop() if len(named) == 1 else None


def ask(
    starter: Starter,
    nodes: Sequence[str],
    words: Sequence[str],
    seconds: float,
    fanout: int,
    tell: Callable[[Answer], None],
    environment: Mapping[str, str],
) -> None:
    """Start `words` on each node, and tell of each once: its text as soon as it is whole, or why it has none.

    `words` print `frames.framed`; each node has so many seconds, and ends them by itself afterwards. Of starters that take one
    node at a time `fanout` run at once. An interrupt ends all that was started, and goes on to the caller.
    """
    limited = ["timeout", "-k", "2", f"{seconds:g}", *words]
    listener = _Listener(nodes, tell)
    run_interruptibly(_asked(starter, listener, limited, seconds, fanout, environment))


async def _asked(
    starter: Starter,
    listener: _Listener,
    words: Sequence[str],
    seconds: float,
    fanout: int,
    environment: Mapping[str, str],
) -> None:
    if starter.kind == "srun":
        # what it cannot have would keep it waiting for all
        states = await _states(starter, listener.nodes, environment)
        for node in listener.nodes if states else ():
            state = states.get(node, "")
            if not state or _GONE.fullmatch(state):
                listener.silent(node, f"Slurm has it as {state}" if state else "Slurm knows no such node")

    def left() -> list[str]:
        return list(listener.waiting)

    async def start(nodes: Sequence[str]) -> None:
        command = starter.command(nodes, words, seconds, fanout)
        limit = starter.limit_s(nodes, seconds, fanout)
        of = nodes[0] if len(nodes) == 1 else None
        last, code = await heard(command, limit, lambda line: listener.hear(line, of), environment)
        if of is not None or starter.kind != "srun":
            if of is None and len(left()) < len(nodes):
                # it was of another node
                last = ""
            for node in nodes:
                listener.silent(node, _why(listener.said.get(node, "") or last, code, seconds, limit))

    await _all((start(batch) for batch in starter.batches(left())), fanout)
    if starter.kind == "srun" and (silent := left()):
        # one node on which nothing can be started ends the step for all: the others of which nothing was said are asked
        # again, each by itself
        for node in silent:
            if said := listener.said.get(node):
                listener.silent(node, _why(said, 0, seconds, 0))
        await start(left()[:1])
        await _all((start([node]) for node in left()), fanout)


async def _all(asked: Iterator[Coroutine[Any, Any, None]], at_once: int) -> None:
    """Wait for all, so many at once; where one fails, as a full disk makes it, the others are ended before that goes on."""

    async def work() -> None:
        for one in asked:
            await one

    tasks = [asyncio.ensure_future(work()) for _ in range(at_once)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _why(said: str, code: int | None, seconds: float, limit_s: float) -> str:
    if code == _TIMED_OUT or _LATE.search(said):
        told = _LATE.sub("", said).strip("; ")
        return f"no answer within {seconds:g} s" + (f": {told}" if told else "")
    if code == _KILLED:
        return f"its command was killed: no answer within {seconds:g} s, or too little memory there"
    if code is None:
        return f"no answer within {seconds:g} s, nor {limit_s - seconds:g} s later" + (f": {said}" if said else "")
    return said or (
        f"its command ended with exit code {code} and no answer" if code else "its answer did not come whole"
    )


async def _states(starter: Starter, nodes: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """What Slurm says of each node; nothing where it does not say."""
    at = str(Path(starter.words[0]).parent / "sinfo")
    lines: list[str] = []

    def hear(line: str) -> bool:
        lines.append(line)
        return True

    with suppress(OSError):
        await heard([at, "-h", "-N", "-n", fold(nodes), "-o", "%N %t"], CONNECT_S, hear, environment)
    found: dict[str, str] = {}
    short = {without_domain(n): n for n in nodes}
    for line in lines:
        name, _, state = line.strip().partition(" ")
        if asked := short.get(without_domain(name)):
            found[asked] = state
    return found
