# SPDX-License-Identifier: BSD-3-Clause
"""confirm: what an earlier experiment promised, repeated in fresh blocks, on the same arguments or on others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError, StoreError
from nodewise.base.files import write_within
from nodewise.base.frozen import dataclass
from nodewise.base.processors import format_processors
from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import Contender, Steps
from nodewise.experiments.progress import Progress
from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment, read_experiment
from nodewise.runner.launch import Start, launch_of
from nodewise.runner.launcher import Launcher
from nodewise.runner.setting import Setting
from nodewise.tuning.custom import put_in
from nodewise.tuning.ranks import read_ranked
from nodewise.verdicts.baseline import unlike
from nodewise.verdicts.compare import COMPARE, CONFIRM
from nodewise.verdicts.confirm import ConfirmVerdict, Promise, confirm_verdict, promise_of
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.failures import failures_of
from nodewise.verdicts.question import AskedContender, question_of

#: Programs whose first argument is another program's file.
_INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|lua|node|julia|Rscript|octave|bash|dash|sh|zsh)[\d.]*")
#: Programs whose arguments hold another command, behind options of their own.
_WRAPPERS = re.compile(
    r"env|numactl|taskset|hwloc-bind|nice|ionice|chrt|stdbuf|time|timeout|setarch|likwid-pin|java|nodewise|perf"
    r"|(mpirun|mpiexec|srun|orterun|aprun)[\w.]*"
)


@dataclass(frozen=True)
class Repetition:
    """A promise and the two settings that it is about, ready to be run again: `contenders` are the reference and the promised."""

    promise: Promise
    contenders: tuple[Contender, Contender]
    earlier: Experiment

    @property
    def flaky(self) -> bool:
        """Whether runs of either failed when it was promised: then one that fails is no answer yet."""
        return any(failures_of(self.earlier, one.setting.key)[0] for one in self.contenders)


def program_words(command: Sequence[str]) -> int | None:
    """How many words of a command come before its program's arguments: a launcher, the program, an interpreter's script.

    None where that cannot be determined.
    """
    ranked = read_ranked(command)
    if ranked is not None:
        inner = program_words(ranked.program)
        return None if inner is None else len(command) - len(ranked.program) + inner
    name = Path(command[0]).name
    if _WRAPPERS.fullmatch(name):
        return None
    if _INTERPRETERS.fullmatch(name):
        return 2 if len(command) > 1 and not command[1].startswith("-") else None
    return 1


def with_arguments(
    command: Sequence[str], asked: Sequence[str], values: Mapping[str, Any], other: Sequence[str]
) -> tuple[str, ...]:
    """A setting's command with other arguments for its program.

    `asked` is the command as its user gave it, with `{name}` where the setting puts one of `values`; `other` are the new
    arguments, or the whole command where it begins as that one does. Raises InputError where it cannot be determined which words
    are arguments, or a value has no place in the new ones.
    """
    words = program_words(asked)
    whole = tuple(other[: words or 1]) == tuple(asked[: words or 1])
    if words is None and not whole:
        raise InputError(
            f"which words of {' '.join(asked)!r} are its program's arguments cannot be determined",
            f"give the whole command: nodewise confirm DIR -- {asked[0]} …",
        )
    kept = words if words is not None else 0
    old, new = list(asked[kept:]), list(other[kept:] if whole else other)
    missing = {n for word in old for n in values if "{" + n + "}" in word}
    missing -= {n for word in new for n in values if "{" + n + "}" in word}
    if missing:
        name = sorted(missing)[0]
        raise InputError(
            f"what was promised sets {name} in the arguments, and the new ones have no place for it",
            f"write {{{name}}} where its value belongs",
        )
    end = len(command) - len(old)
    if [put_in(word, values) for word in old] != list(command[end:]):
        raise InputError(
            f"the arguments are not found in {' '.join(command)!r}, so they cannot be replaced",
            "repeat it without other arguments, or tune again with them",
        )
    return (*command[:end], *(put_in(word, values) for word in new))


def repetition_of(earlier: Experiment, other: Sequence[str], start: Start) -> Repetition:
    """What is to be run to repeat what an experiment promised; `start` is what is given for every run.

    Raises InputError where there is nothing to repeat.
    """
    promise = promise_of(earlier)
    asked = {one.name: one for one in question_of(earlier).contenders}

    def contender(key: str) -> Contender:
        setting = earlier.settings[key]
        how = asked.get(key)
        if other:
            setting = replace(setting, command=_other_command(earlier, setting, how, other))
        text = launch_of(setting, start, earlier.masks).line() if other or how is None else how.text
        steps, shell = (Steps(), None) if how is None else (Steps(**how.steps), how.shell)
        return Contender(replace(setting, name=setting.key), text, steps, shell)

    return Repetition(promise, (contender(promise.one), contender(promise.other)), earlier)


def _other_command(
    earlier: Experiment, setting: Setting, how: AskedContender | None, other: Sequence[str]
) -> tuple[str, ...]:
    question = question_of(earlier)
    if how is not None and how.shell:
        raise InputError(
            f"{how.text!r} is carried out by a shell: its arguments cannot be replaced",
            "repeat it without other arguments, or compare anew with them",
        )
    if question.kind == COMPARE:
        # the values of its parameters are in its words already, and stay where the words stay
        return with_arguments(setting.command, setting.command, {}, other)
    if any(word.startswith("study:") for word in question.asked):
        raise InputError(
            "a study has knobs and no arguments", "tune it with others: nodewise tune study:NAME knob=value"
        )
    first = {name: values[0] for name, values in question.wanted.parameters.items()}
    return with_arguments(setting.command, question.command, {**first, **setting.values}, other)


def check_runnable(repetition: Repetition, machine: Machine) -> None:
    """Raises InputError where a setting needs processors or NUMA nodes that are not there."""
    settings = [c.setting for c in repetition.contenders]
    named = {p for s in settings for p in s.mask or ()} | {
        p for s in settings for place in s.places or () for p in place
    }
    missing = sorted(named - set(machine.allowed))
    if missing:
        here = f"this one has {format_processors(machine.allowed)}" if machine.allowed else "this one allows none"
        raise InputError(
            f"what was promised needs processors {format_processors(missing)}, which are not there or not allowed: {here}",
            "a placement is worth something on its own machine only: tune here",
        )
    nodes = {n for s in settings if s.memory is not None for n in s.memory.nodes}
    lost = sorted(nodes - {n.os_index for n in machine.numa_nodes})
    if lost:
        raise InputError(
            f"what was promised needs NUMA nodes {format_processors(lost)}, which are not there",
            "a memory policy is worth something on its own machine only: tune here",
        )


def confirm(
    repetition: Repetition,
    question: CompareQuestion,
    launcher: Launcher,
    observe: Callable[[Progress], None] = lambda _: None,
    notes: Sequence[str] = (),
    before_block: Callable[[], None] = lambda: None,
) -> ConfirmVerdict:
    """Run both settings in fresh blocks until it is known whether the promise holds, or the budget ends.

    `question` says how; its contenders are those of the repetition. Raises as `experiments.compare.compare` does, but a
    promised setting that fails is an answer.
    """
    one, other = repetition.contenders
    asked = replace(
        question,
        kind=CONFIRM,
        contenders=repetition.contenders,
        may_fail=frozenset({other.setting.key}),
        # more blocks are made while it is open on which side of the promise the ratio lies
        apart=repetition.promise.least,
        masks=repetition.earlier.masks,
    )
    now = Experiment(question.out, asked.to_json())
    asked = replace(
        asked,
        more={
            "promise": {
                **asdict(repetition.promise),
                "command": list(one.setting.command),
                "differences": unlike(now, repetition.earlier),
                "notes": list(notes),
                "flaky": repetition.flaky,
            }
        },
    )
    comparison = compare(asked, launcher, observe, before_block)
    verdict = confirm_verdict(read_experiment(question.out), comparison.stopped)
    try:
        # read from the records, in which secrets are masked
        write_within(question.out, "verdict.json", json.dumps(encode(verdict), indent=1))
    except StoreError as problem:
        return replace(verdict, notes=(*verdict.notes, problem.what))
    return verdict


def moved_paths(words: Sequence[str], run_in: Path) -> tuple[tuple[str, ...], list[str]]:
    """Arguments with files of the current directory made absolute, where runs are made in another that has none of that name.

    And what is to be said of it.
    """
    here = Path.cwd()
    if run_in.resolve() == here.resolve():
        return tuple(words), []
    made = tuple(
        os.fspath(here / word) if (here / word).exists() and not Path(run_in, word).exists() else word for word in words
    )
    return made, [f"runs are made in {run_in}, as then"]
