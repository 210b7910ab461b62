# SPDX-License-Identifier: BSD-3-Clause
"""compare: several commands in random interleaved blocks, until an interval says a word of each or the budget ends."""

from __future__ import annotations

import math
import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

from nodewise.base.difference import WITHIN
from nodewise.base.errors import InputError, ProgramError
from nodewise.base.frozen import dataclass
from nodewise.base.masking import Masks
from nodewise.base.units import format_seconds, whole_duration
from nodewise.base.words import split_words
from nodewise.experiments.against import Against
from nodewise.experiments.blocks import Arm, Block, Blocks, Stop
from nodewise.experiments.contenders import Contender
from nodewise.experiments.first_run import accepting, failed
from nodewise.experiments.progress import Progress
from nodewise.machine.model import Machine
from nodewise.records.budget import Budget, Meter
from nodewise.records.columns import WARM_UP
from nodewise.records.experiment import Experiment, Writer, read_experiment
from nodewise.records.inherited import inherited_facts
from nodewise.records.recorder import Recorder
from nodewise.runner.commands import run_whole, will
from nodewise.runner.launcher import Launcher
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.same_output import ANY_OUTPUT, SameOutput
from nodewise.runner.sample import Sample
from nodewise.statistics.compare import Ratio
from nodewise.statistics.disturbance import Met
from nodewise.statistics.summary import Running
from nodewise.statistics.verdict import is_settled
from nodewise.verdicts.baseline import against_baseline
from nodewise.verdicts.compare import COMPARE, RUN, CompareVerdict, compare_verdict, comparisons, looks_of
from nodewise.verdicts.disturbed import PhaseMet, met_of
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.failures import fails_by_chance
from nodewise.verdicts.pair import Pairs, judge_pairs

#: So many runs of a command that stands alone are enough.
_ALONE = 10
#: A command's first run is stopped after this share of the budget, or more where fewer runs than that are needed.
_FIRST_SHARE = 0.25
#: The first block reads its files from the disk: further ones may take this share of its time.
_WARM = 0.5
#: A command that stands alone is tried so often where its first runs fail, as long as that takes no longer than this.
_TRIES, _TRIES_S = 3, 10.0
#: Cut off after so many times what the reference takes: it hangs.
_HANGS = 3.0
#: Words that are for a shell, where there is one.
_OF_A_SHELL = frozenset(("|", "||", "&&", ";", "&", "<", ">", ">>", "2>", "2>&1", "&>"))
#: What is done after the last run has at least so long, whatever is left of the budget.
_CLEANUP_S = 60.0
#: So many bytes of the end of what a step printed are shown where it fails.
_KEPT = 64 << 10


@dataclass(frozen=True)
class CompareQuestion:
    """What is asked: which of `contenders` is faster, the first one being the reference.

    `fewest` and `most` bound the runs of each; where both are the same number, a block that was disturbed is kept, and another
    one made besides. `within` is the difference that counts as none. `threshold` is a slowdown
    (0.02: 2%) of which has to be said whether it is exceeded. `same` is what of the output has to be as the reference's.
    `resume`: go on with what `out` holds. With `accept_disturbed` blocks decide that something disturbed, too. `kind` is
    `run` where one command stands alone, `confirm` where a promise is repeated. More blocks are made while it is open on
    which side of the ratio `apart` the others lie. That one of `may_fail` never runs well is an answer, and no bad input.
    With a `baseline` more blocks are made until it is decided how each compares with what it was then, across machines only
    with `any_machine`. `how` says how the runs are made, as plain values; it and `more` are stored with the question, `masks` are those of an
    experiment that is repeated.
    """

    contenders: tuple[Contender, ...]
    machine: Machine
    out: Path
    budget: Budget = field(default_factory=lambda: Budget(60.0))
    fewest: int = 1
    most: int | None = None
    warmup: int = 1
    within: float = WITHIN
    threshold: float | None = None
    seed: int = 0
    timeout_s: float | None = None
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    asked: tuple[str, ...] = ()
    objective: Objective = SECONDS
    shown: Shown = field(default_factory=Shown)
    resume: bool = False
    same: SameOutput = ANY_OUTPUT
    accept_disturbed: bool = False
    kind: str = COMPARE
    apart: float | None = None
    may_fail: frozenset[str] = frozenset()
    how: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    firm: bool = True
    masks: Masks | None = None
    baseline: Experiment | None = None
    any_machine: bool = False

    @property
    def deciding(self) -> int:
        """The fewest blocks from which on there are intervals, of all pairs and against a baseline."""
        pairs = len(comparisons([c.setting.key for c in self.contenders]))
        return looks_of(pairs + (len(self.contenders) if self.baseline is not None else 0)).fewest

    @property
    def needed(self) -> int:
        """The fewest blocks after the warm-up that say something: of a command alone one, of a pair what an interval takes."""
        if self.kind == RUN:
            return 1
        least = looks_of(len(comparisons([c.setting.key for c in self.contenders]))).fewest
        return max(self.fewest, least) if self.most is None else min(self.most, max(self.fewest, least))

    def to_json(self) -> dict[str, Any]:
        """What `question.json` holds."""
        return {
            "kind": self.kind,
            "contenders": [
                {"name": c.setting.key, "text": c.text, "shell": c.shell, "steps": asdict(c.steps)}
                for c in self.contenders
            ],
            "command": [c.text for c in self.contenders],
            "budget": {"seconds": self.budget.seconds, "runs": self.budget.runs},
            "within": self.within,
            "threshold": self.threshold,
            "accept_disturbed": self.accept_disturbed,
            "warmup": self.warmup,
            "timeout_s": self.timeout_s,
            "seed": self.seed,
            "objective": asdict(self.objective),
            "shown": asdict(self.shown),
            "same_output": self.same.to_json(self.contenders[0].setting.key),
            "axes": {},
            "how": dict(self.how),
            **inherited_facts(self.machine, self.environment, self.asked),
            **self.more,
        }


class Comparer:
    """One comparison, from the setup of its commands to the verdict."""

    def __init__(
        self,
        question: CompareQuestion,
        launcher: Launcher,
        observe: Callable[[Progress], None] = lambda _: None,
        before_block: Callable[[], None] = lambda: None,
    ):
        names = [c.setting.key for c in question.contenders]
        if len(names) != len(set(names)):
            raise InputError("two commands have one name", "give each its own --command-name")
        self._question = question
        self._launcher = launcher
        self._observe = observe
        self._before_block = before_block
        self._meter = Meter(question.budget)
        self._costs: dict[str, dict[int, float]] = {name: {} for name in names}
        self._centres = {name: Running() for name in names}
        self._failed: dict[str, str] = {}
        self._well: dict[str, float] = {}
        self._bad = 0
        self._bad_of: Counter[str] = Counter()
        self._set_up: list[Contender] = []
        self._left: list[str] = []
        self._met: list[Met] = []
        self._looked: dict[str, int] = {}
        self._ripe: Counter[str] = Counter()
        self._known: dict[str, bool] = {}
        self._made: list[int] = []
        self._after: dict[tuple[int, str], str | None] = {}
        self._against = None if question.baseline is None else self._against_of(question.baseline)
        self._looks = looks_of(len(comparisons(names)) + self._besides)

    def _against_of(self, then: Experiment) -> Against:
        question = self._question
        contenders = [(c.setting.key, c.text) for c in question.contenders]
        return Against(
            then, contenders, question.machine, question.environment, question.objective, question.any_machine
        )

    @property
    def _besides(self) -> int:
        """How many intervals hold together with those of the commands."""
        return 0 if self._against is None else len(self._against.pairs)

    def run(self) -> CompareVerdict:
        """Measure and judge. Ctrl-C ends with what there is.

        Raises ProgramError where a command or a step around it fails at its first run, StoreError where the experiment
        cannot be written.
        """
        question = self._question
        stopped = "decided"
        with Writer(question.out, None if question.resume else question.to_json(), question.masks) as writer:
            recorder = Recorder(writer, self._launcher, self._meter, writer.earlier)
            self._blocks = Blocks(
                recorder, self._meter, random.Random(question.seed), question.objective, self._before_block
            )
            try:
                with self._cleaned_up():
                    stopped = self._measure()
            except KeyboardInterrupt:
                if any(len(c) < 1 for c in self._costs.values()):
                    # a run may have taken hours, also one that decides nothing yet
                    if not writer.measured:
                        writer.give_up()
                    raise
                stopped = "interrupted"
            except (ProgramError, InputError) as problem:
                if not all(self._costs.values()):
                    writer.give_up()
                elif not problem.of_caller:
                    problem.hint = f"{problem.hint or 'mend it'}; what was measured is kept: --resume {question.out}"
                raise
            writer.end_runs()
            found = read_experiment(question.out)
            verdict = compare_verdict(found, stopped, self._besides)
            verdict = replace(verdict, warnings=(*verdict.warnings, *dict.fromkeys(self._left)))
            if question.baseline is not None:
                then = against_baseline(found, question.baseline, question.any_machine, self._looks)
                verdict = replace(verdict, baseline=then)
            return replace(verdict, warnings=(*verdict.warnings, *writer.conclude(encode(verdict))))

    @contextmanager
    def _cleaned_up(self) -> Iterator[None]:
        """Whatever was set up is cleaned up, however the runs end; one that cannot be is no reason to lose what was measured."""
        try:
            yield
        finally:
            for contender in self._set_up:
                try:
                    self._step(contender, "cleanup")
                except ProgramError as problem:
                    self._left.append(problem.what)

    def _step(self, contender: Contender, which: str) -> None:
        """One of the shell commands around the runs. Raises ProgramError where it fails."""
        text = getattr(contender.steps, which)
        if text is None:
            return
        shell = split_words(contender.shell or "sh", "--shell")
        limit = max(self._allowed_s(), _CLEANUP_S if which == "cleanup" else 0.0)
        try:
            code, printed = self._shell([*shell, "-c", text], None if math.isinf(limit) else limit)
        except OSError as problem:
            raise ProgramError(
                f"--{which} cannot be run by {shell[0]}: {problem.strerror}", "name a --shell"
            ) from problem
        except subprocess.TimeoutExpired as problem:
            raise ProgramError(
                f"--{which} was stopped after {format_seconds(limit)}, where the budget ended: {text}",
                "a larger --budget lets it go on",
            ) from problem
        if code:
            raise ProgramError(
                f"--{which} failed with exit code {code}: {text}" + (f"\n{printed}" if printed else ""),
                "it must succeed; end it with `|| true` where its failure does not matter",
            )

    def _shell(self, words: Sequence[str], limit_s: float | None) -> tuple[int, str]:
        """Exit code and output of a command; it and all that it started end after `limit_s`, or where this is interrupted."""
        question = self._question
        environment = dict(question.environment)
        with will(":") as begun:
            done = run_whole(words, limit_s, begun, _KEPT, cwd=question.cwd, env=environment, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.rstrip()

    def _measure(self) -> str:
        question = self._question
        for left in reversed(range(question.warmup)):
            block = self._blocks.run(self._arms(), WARM_UP, self._allowed_s)
            self._fail(block)
            self._report(WARM_UP)
            self._check_budget(block, left + question.needed)
        # so many are wanted that were not disturbed; a bound alone holds as it is
        again = not question.accept_disturbed and question.fewest == question.most
        stop = Stop(question.fewest, question.most, again=again, firm=question.firm)
        least = min(2, len(question.contenders))
        ended = self._blocks.repeat(self._arms, COMPARE, stop, self._take, lambda _: self._settled(), least)
        if question.kind == RUN and not self._costs[self._reference]:
            raise self._never_well(self._last_bad)
        return ended

    def _allowed_s(self) -> float:
        firm = self._question.firm or len(self._made) >= self._question.fewest
        return self._blocks.allowed_s() if firm else self._blocks.patience_s()

    @property
    def _first_s(self) -> float | None:
        """How long the first run of a command may take: more could not end in an answer. None: as long as any other."""
        question, seconds = self._question, self._meter.budget.seconds
        if seconds is None or not question.firm:
            return None
        runs = (question.warmup + question.needed) * len(question.contenders)
        return seconds * max(_FIRST_SHARE, 1 / runs)

    def _check_budget(self, block: Block, further: int) -> None:
        """Raise InputError where the budget surely does not hold the `further` blocks that an answer takes."""
        question, seconds = self._question, self._meter.budget.seconds
        if seconds is None or not question.firm:
            return
        many = len(question.contenders)
        each_s = sum(block.costs.values()) / max(1, len(block.costs)) * many
        if block.whole and (block.number > 1 or further * each_s * _WARM <= seconds - self._meter.seconds):
            return
        runs = (question.warmup + question.needed) * many
        texts = {c.setting.key: c.text for c in question.contenders}
        said = "one run takes" if many == 1 else f"one run of each of the {many} takes"
        what = f"{said} {format_seconds(each_s)}"
        for key in block.stopped:
            each_s = max(each_s, many * block.samples[key].wall_s)
            what = f"a run of {texts[key]} was stopped after {format_seconds(block.samples[key].wall_s)}"
        enough = self._meter.seconds + further * each_s
        raise InputError(
            f"the budget is too small: {what}, and an answer takes {runs} runs",
            f"give {'more than ' if block.stopped else ''}--budget {whole_duration(enough)}, or a smaller input"
            + ("; --timeout says how long a run may take at most" if block.stopped else ""),
        )

    @property
    def _reference(self) -> str:
        return self._question.contenders[0].setting.key

    def _arms(self) -> list[Arm]:
        """Those that have not failed; none where the reference has, which nothing can then be held against."""
        if self._reference in self._failed:
            return []
        return [self._arm(c) for c in self._question.contenders if c.setting.key not in self._failed]

    def _arm(self, contender: Contender) -> Arm:
        def before() -> None:
            if contender not in self._set_up:
                self._set_up.append(contender)
                self._step(contender, "setup")
            self._step(contender, "prepare")

        around = (before, lambda: self._step(contender, "conclude"))
        first_s = None if contender.setting.key in self._well else self._first_s
        return Arm(contender.setting, self._question.timeout_s, around, first_s)

    def _take(self, block: Block) -> None:
        for key, sample in block.samples.items():
            if sample.ok:
                self._costs[key][block.number] = sample.seconds
                self._centres[key].add(sample.seconds)
        # every good run of the block is kept before a failure ends the comparison
        self._fail(block)
        if not all(self._costs[c.setting.key] or c.setting.key in self._failed for c in self._question.contenders):
            self._check_budget(block, self._question.needed - len(self._made) - 1)
        self._met += [met_of(block.number, key, sample) for key, sample in block.samples.items()]
        self._after |= {(block.number, key): before for key, before in block.after.items()}
        self._made.append(block.number)
        self._report(COMPARE)

    def _fail(self, block: Block) -> None:
        texts = {c.setting.key: c.text for c in self._question.contenders}
        self._well |= {key: block.costs[key] for key, sample in block.samples.items() if sample.ok}
        for key, sample in block.samples.items():
            if not sample.ok and (key not in block.stopped or self._hangs(key, sample)):
                self._take_failure(key, texts[key], sample)

    def _hangs(self, key: str, sample: Sample) -> bool:
        """Whether a run that the budget's end cut off had so much more time than the reference needs that this is an answer."""
        usual = self._well.get(self._reference)
        asked = key in self._question.may_fail and key not in self._well
        return asked and usual is not None and sample.wall_s > _HANGS * usual

    def _take_failure(self, key: str, text: str, sample: Sample) -> None:
        """A command that never ran well is bad input; one that fails later is left out, and its row says so.

        One that stands alone goes on: its good runs are what is asked for. So does one of a repetition that failed by chance before.
        """
        self._last_bad = sample
        if self._question.kind == RUN:
            self._bad += 1
            if not self._well and (self._bad >= _TRIES or self._meter.seconds > _TRIES_S):
                raise self._never_well(sample)
            return
        self._bad_of[key] += 1
        flaky = self._question.more.get("promise", {}).get("flaky", False)
        if flaky and fails_by_chance(sample, self._bad_of[key], len(self._costs[key])):
            return
        if not self._costs[key] and key not in self._question.may_fail:
            raise failed(text, sample, self._way_on(key, sample) if self._question.kind == COMPARE else None)
        self._failed[key] = str(sample.error)

    def _way_on(self, key: str, sample: Sample) -> str | None:
        """What helps where a command of a comparison does not run well the first time; None where nobody knows."""
        if sample.cut_off:
            return "give more time to each run: --timeout"
        contender = next(c for c in self._question.contenders if c.setting.key == key)
        if not contender.shell and _OF_A_SHELL & set(contender.setting.command):
            return "without a shell |, <, > and the like are arguments of the program: leave out -N and --shell none"
        return accepting(str(sample.error))

    def _never_well(self, sample: Sample) -> ProgramError:
        (contender,) = self._question.contenders
        hints = [f"it failed in each of {self._bad} runs" if self._bad > 1 else None, accepting(str(sample.error))]
        return failed(contender.text, sample, "; ".join(filter(None, hints)) or None)

    def _settled(self) -> bool:
        """Whether a verdict is reached on each contender against the reference, and the baseline, and its size is known well enough."""
        question = self._question
        if self._against is None:
            return self._settled_here()
        costs = {key: list(c.values()) for key, c in self._costs.items() if key not in self._failed}
        then = self._against.settled(costs, self._looks, question.within, question.threshold)
        return then and self._settled_here()

    def _settled_here(self) -> bool:
        """The same among those that run."""
        question, looks = self._question, self._looks
        if len(question.contenders) < 2:
            if question.kind == RUN:
                return False
            spoiled = frozenset() if question.accept_disturbed else self._all_met().of().which
            return sum(number not in spoiled for number in self._made) >= _ALONE
        met, reference = None, self._costs[self._reference]
        for contender in question.contenders[1:]:
            key = contender.setting.key
            # what disturbed the runs is worked out from all of them: only where a look may be due
            if key in self._failed or len(self._made) < self._ripe[key]:
                continue
            met = met or self._all_met()
            both = sorted(reference.keys() & self._costs[key].keys())
            pairs = Pairs(
                tuple(reference[b] for b in both),
                tuple(self._costs[key][b] for b in both),
                tuple(both),
                met.of(self._reference, key),
                tuple((self._after[b, self._reference], self._after[b, key]) for b in both),
                (self._reference, key),
            )
            # between two looks what was seen at the last one holds
            count = len(pairs.deciding(question.accept_disturbed)[0])
            self._ripe[key] = len(self._made) + looks.following(count) - count
            if not looks.due(count) or self._looked.get(key) == count:
                continue
            self._looked[key] = count
            verdict, _ = judge_pairs(
                pairs, looks.level, question.within, final=False, accept_disturbed=question.accept_disturbed
            )
            threshold, ratio = question.threshold, verdict.ratio
            at_threshold = threshold is not None and ratio.low * (1 + threshold) <= 1 <= ratio.high * (1 + threshold)
            self._known[key] = is_settled(verdict) and not at_threshold and not self._at_edge(ratio)
        return all(self._known.get(c.setting.key, c.setting.key in self._failed) for c in question.contenders[1:])

    def _all_met(self) -> PhaseMet:
        return PhaseMet(self._met, self._question.machine.limits.cpu_quota)

    def _at_edge(self, ratio: Ratio) -> bool:
        """Whether it is open on which side of `apart` a ratio lies, and more runs may still decide."""
        apart = self._question.apart
        wide = ratio.high > ratio.low * (1 + 2 * self._question.within)
        return apart is not None and wide and ratio.low <= apart <= ratio.high

    def _report(self, phase: str) -> None:
        centres = {key: centre.median for key, centre in self._centres.items() if len(centre)}
        if not centres:
            self._observe(self._blocks.progress(phase))
            return
        leader = min(centres, key=lambda key: centres[key])
        first = centres.get(self._reference)
        speedup = first / centres[leader] if first and leader != self._reference else None
        self._observe(self._blocks.progress(phase, leader, speedup, len(centres)))


def compare(
    question: CompareQuestion,
    launcher: Launcher,
    observe: Callable[[Progress], None] = lambda _: None,
    before_block: Callable[[], None] = lambda: None,
) -> CompareVerdict:
    """Answer a question: see `Comparer.run`; `before_block` may wait for quiet."""
    return Comparer(question, launcher, observe, before_block).run()
