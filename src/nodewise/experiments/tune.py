# SPDX-License-Identifier: BSD-3-Clause
"""tune: search the settings of a program on a machine, then confirm the best one on fresh runs against the baseline."""

from __future__ import annotations

import contextlib
import functools
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, replace
from typing import Any

from nodewise.base.errors import InputError, ProgramError
from nodewise.experiments.ablate import Ablate
from nodewise.experiments.blocks import Arm, Blocks
from nodewise.experiments.confirmation import (
    FAILED,
    OVERTAKEN,
    Compared,
    Confirmation,
    fewest_blocks,
    first_looks,
    further_looks,
)
from nodewise.experiments.first_run import (
    FEWEST_RUNS,
    LEAST_FIRST_S,
    MOST_STARTING,
    check_first_run,
    check_runs,
    check_space,
    too_small,
)
from nodewise.experiments.progress import Progress
from nodewise.experiments.reserve import Reserve
from nodewise.experiments.same_work import SameWork
from nodewise.experiments.sweep import is_tried_out, left_untried, sweep_settings
from nodewise.experiments.tune_question import Question
from nodewise.experiments.tune_runs import TuneRuns
from nodewise.records.budget import Budget, Meter
from nodewise.records.earlier import earlier_from_json
from nodewise.records.experiment import Writer, read_experiment
from nodewise.records.recorder import Recorder
from nodewise.records.sample_lines import Plan
from nodewise.runner.launcher import Launcher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import BASELINE, Setting
from nodewise.search.grid import GridSearch
from nodewise.search.guided import GuidedSearch
from nodewise.search.reduce import Reduction
from nodewise.search.space import AS_STARTED, Point
from nodewise.statistics.sequential import ALPHA
from nodewise.statistics.verdict import Word
from nodewise.tuning.builds import Builder
from nodewise.tuning.outline import Outline
from nodewise.tuning.prior import Recall, nothing_recalled, priors_of
from nodewise.tuning.ranks import with_ranks
from nodewise.tuning.selection import Offer
from nodewise.verdicts.ablation import REDUCE
from nodewise.verdicts.encoding import encode
from nodewise.verdicts.never_ended import MOST_CUT
from nodewise.verdicts.tune import CONFIRM, TuneVerdict, tune_verdict

#: Several settings may be confirmed one after another. The first has this share of the error rate, each further one this
#: share of what is left then, so that all that is said of them holds together.
_FIRST_SHARE = 0.9
_MOST_BLOCKS = 400
#: Whether another setting overtakes the candidate is asked again after this part more of blocks: the model is fitted anew for it.
_ASKED_AGAIN = 1 / 4
#: A plan that was left open is followed by others down to this share of the error rate.
_LEAST_SHARE = 0.005
#: A run of the search may take this many times the baseline's time in any case, also where it eats up what the confirmation needs.
_LEAST_PATIENCE = 1.5
#: What nodewise itself needs around a run.
_AROUND_S = 0.001
#: A second run takes no less than this share of the first one's time.
_COLD = 1 / 3
#: The search has so many runs in any case: without another setting there is nothing to confirm.
_FIRST_RUNS = 2
#: The first run is stopped after this share of the budget: a verdict needs many more.
_FIRST_RUN_SHARE = 0.25
#: The phase of the runs that look for the best setting.
SEARCH = "search"


class Tuner:
    """One tune, from the first run to the verdict."""

    def __init__(
        self,
        question: Question,
        launcher: Launcher,
        observe: Callable[[Progress], None] = lambda _: None,
        before_block: Callable[[], None] = lambda: None,
        announce: Callable[[Outline], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        spent_s: float = 0.0,
        recall: Recall = nothing_recalled,
    ):
        """`announce` is called with what will be done, once that is known; `before_block` may wait for quiet. `spent_s` of the
        budget's seconds are gone already. `recall` gives earlier tunes that may help this one, by what its program loads;
        none are asked for where it goes on.
        """
        self._question = question
        self._announce = announce
        self._launcher = launcher
        self._observe = observe
        self._before_block = before_block
        self._offer = Offer(question.machine, question.command, question.axes, question.environment, question.wanted)
        self._builder = Builder(question.out / "builds", question.command[0], question.start.cwd, question.environment)
        self._offer.builder = self._builder
        self._offer.folder = question.out / "launch"
        self._options = self._offer.before_the_first_run()
        self._baseline = with_ranks(Setting(command=question.command), question.environment)
        self._random = random.Random(question.seed)
        self._spent_s = spent_s
        self._meter = Meter(question.budget, clock, min(spent_s, (question.budget.seconds or 0.0) * MOST_STARTING))
        self._closed: set[Hashable] = set()
        self._judged: Confirmation | None = None
        self._swept, self._exhausted = 0, False
        self._recall = recall
        self._cut: Counter[str] = Counter()

    def run(self) -> TuneVerdict:
        """Ask, search, confirm and conclude. Ctrl-C ends with the best so far.

        Raises ProgramError where the baseline does not run, InputError where the budget cannot decide anything,
        StoreError where the experiment cannot be written.
        """
        question = self._question
        check_runs(question.budget.runs)
        with Writer(question.out, None if question.resume else question.to_json()) as self._writer:
            self._begin()
            stopped = "interrupted"
            with contextlib.suppress(KeyboardInterrupt):
                stopped = self._answer()
            self._writer.end_runs()
            verdict = tune_verdict(read_experiment(question.out), stopped)
            return replace(verdict, notes=(*verdict.notes, *self._writer.conclude(encode(verdict))))

    def preview(self) -> Outline:
        """What `run` would do: one run of the program, and nothing of it is kept.

        A budget that is too small is no error here. Raises ProgramError where the program does not run.
        """
        self._meter.budget = Budget(None)
        with Writer(self._question.out, self._question.to_json()) as self._writer:
            self._begin(self._question.budget)
            self._writer.discard()
        return self._outline()

    def _begin(self, budget: Budget | None = None) -> None:
        """The first run and the axes; where that fails nothing is left behind of a new experiment.

        `budget` is the one that holds after the first run, where that is another one.
        """
        recorder = Recorder(self._writer, self._launcher, self._meter, self._writer.earlier, self._question.budget)
        self._builder.written = self._writer.masked
        self._builder.allowed_s = lambda: self._meter.left_s(self._question.budget)
        self._same_work = SameWork(self._baseline.ranks, recorder.judge)
        recorder.check = self._same_work.judged
        self._blocks = Blocks(recorder, self._meter, self._random, self._question.objective, self._before_block)
        self._runs = TuneRuns(self._question, self._blocks, self._meter)
        self._costs = self._runs.costs
        try:
            self._first_run()
            self._meter.budget = budget or self._meter.budget
            self._choose_axes()
            if self._question.sweep:
                few = None if budget else self._meter.affordable(self._costs.first_s)
                self._swept = sweep_settings(self._options.space, self._costs.first_s, few)
                self._writer.amend({"sweep": self._swept})
        except (ProgramError, InputError, KeyboardInterrupt) as ended:
            # a first run may have taken hours; one that shows that nothing can be asked is worth nothing
            kept = isinstance(ended, KeyboardInterrupt) and self._writer.measured
            if not kept:
                self._writer.give_up()
            raise
        self._announce(self._outline())

    def _outline(self) -> Outline:
        space, budget, cost = self._options.space, self._question.budget, self._costs.first_s
        by_runs, by_time = budget.runs or math.inf, (budget.seconds or math.inf) / cost
        runs = None if math.isinf(min(by_runs, by_time)) else int(min(by_runs, by_time))
        seconds = budget.seconds if by_time <= by_runs else by_runs * cost
        about = (self._offer.left_out(), self._options.binding.why, cost, runs, seconds, self._swept or space.size)
        return Outline(space.open, *about, bool(self._swept), tuple(one for one, _ in self._priors))

    # --- runs

    def _report(self, phase: str, leader: Setting | None, racing: int) -> None:
        times = self._costs.times
        base, mine = times.get(BASELINE), times.get(leader.key) if leader else None
        speedup = base.median / mine.median if base and mine else None
        self._observe(self._blocks.progress(phase, leader.key if leader else None, speedup, racing))

    # --- the first run

    def _first_run(self) -> None:
        """One run of the baseline: does it work, and what does a run cost."""
        self._report("first run", None, 0)
        self._baseline = self._options.baseline()
        own, share = self._question.timeout_s or math.inf, self._meter.left_s(self._meter.budget) * _FIRST_RUN_SHARE
        # a budget that is small shows what would do instead of what does not
        share = max(share, LEAST_FIRST_S)
        limit = min(own, share)
        with self._offer.watching(self._launcher, self._baseline):
            sample, cost = self._blocks.alone(Arm(self._baseline, None if math.isinf(limit) else limit), "warm-up")
        # nodewise's own start, and looking at what the program loads, are no part of what further runs will cost
        cost = min(cost, sample.wall_s + _AROUND_S)
        self._costs.take(BASELINE, sample, cost, False)
        self._offer.used(sample.usage)
        check_first_run(sample, share if limit == share else None, bool(self._question.start.stdin))
        if self._meter.affordable(cost) < FEWEST_RUNS - 1:
            # a first run reads its files from the disk and has to start what the next ones find running; one that is no quicker is not awaited
            left_s = self._meter.left_s(self._meter.budget) / (FEWEST_RUNS - 1)
            if left_s < cost * _COLD:
                raise too_small(cost, self._spent_s)
            again, second = self._blocks.alone(Arm(self._baseline, min(own, left_s)), "warm-up")
            self._costs.take(BASELINE, again, second, False)
            cost = min(cost, second) if again.ok else cost
        if self._meter.affordable(cost) < FEWEST_RUNS - 2:
            raise too_small(cost, self._spent_s)
        if (
            self._question.axes is None
            and self._same_work.may_repeat
            and self._meter.affordable(cost) > 2 * FEWEST_RUNS
        ):
            limit = min(own, self._blocks.allowed_s())
            again, second = self._blocks.alone(Arm(self._baseline, limit if limit < math.inf else None), "warm-up")
            self._costs.take(BASELINE, again, second, False)

    def _choose_axes(self) -> None:
        """The axes, now that it is known what the program loads; a resumed tune takes those of then."""
        earlier: dict[str, Any] = self._writer.earlier.question if self._writer.earlier is not None else {}
        if "loaded" in earlier:
            self._offer.recall(earlier["loaded"])
        self._offer.rank_counts = self._same_work.proven
        self._options = self._offer.after_the_first_run(self._meter.affordable(self._costs.first_s))
        space = self._options.space
        check_space(space, self._question.wanted.constraints)
        # they are kept, so that going on is led by the same ones
        known = earlier_from_json(earlier.get("earlier", []))
        if "loaded" not in earlier:
            known = () if self._question.sweep else self._recall(self._offer.loaded)
        apart = self._setting(space.default).key != BASELINE
        self._priors = priors_of(known, space, self._question.machine, apart)
        if "loaded" not in earlier:
            of_libraries = {"loaded": self._offer.loaded_json, "knobs": self._offer.reasons()}
            axes = {
                "axes": {a.name: list(a.values) for a in space.axes},
                "defaults": {a.name: a.default for a in space.axes},
            }
            self._writer.amend(axes | {"earlier": [asdict(one) for one, _ in self._priors]} | of_libraries)

    # --- the search

    def _answer(self) -> str:
        """Search, reduce and confirm, again where a candidate was none after all; what ended it."""
        space = self._options.space
        apart = self._setting(space.default).key != BASELINE
        guesses = self._offer.first_guesses(space.default)
        search = GridSearch if self._question.sweep else GuidedSearch
        self._search = search(space, self._question.seed, guesses, apart=apart, earlier=[p for _, p in self._priors])
        self._reserve = Reserve(self._search, space, self._costs, self._question.within)
        try:
            return self._decided()
        finally:
            refuted = {"refuted": self._search.refutes_earlier} if self._priors else {}
            self._writer.amend({**left_untried(self._search, space), **refuted})

    def _decided(self) -> str:
        """What ended the search and the comparisons with what it found."""
        stopped, alpha = "", ALPHA * _FIRST_SHARE
        while True:
            self._explore(alpha)
            point = self._best()
            if point is None:
                tried_out = self._exhausted or is_tried_out(self._search, self._options.space)
                return stopped or ("nothing left" if tried_out else "budget")
            candidate, reduced = self._reduced(point, alpha)
            if self._search.failed(point):
                self._search.resume()
                continue
            compared = self._confirm_on(candidate, reduced, alpha)
            self._closed.add(self._start(candidate))
            if compared.won:
                return compared.ended
            # where nobody looked nothing could have been said in error
            alpha *= compared.share * (1 - _FIRST_SHARE if compared.looked else 1)
            if compared.ended not in (FAILED, OVERTAKEN):
                stopped = compared.ended
                if not self._promises_more():
                    return stopped
            if self._runs.affordable() < 2 * fewest_blocks(alpha):
                return stopped or "budget"
            self._search.resume()

    def _setting(self, point: Mapping[str, Any]) -> Setting:
        if AS_STARTED in point:
            return self._baseline
        setting = self._options.setting(point)
        return self._baseline if self._start(setting) == self._start(self._baseline) else setting

    def _start(self, setting: Setting) -> Hashable:
        return setting.start(self._question.environment, self._question.machine.allowed)

    def _best(self, but: Hashable = None) -> Point | None:
        """The best point that is another setting than the baseline, than those that were compared already, and than `but`."""
        for point in self._search.ranking:
            setting = self._setting(point)
            other = setting.key != BASELINE and self._start(setting) not in {*self._closed, but}
            # what showed that other ranks do the same work may have ended: an output that no longer repeats
            if other and (self._question.axes or setting.ranks == self._baseline.ranks or self._same_work.proven):
                return point
        return None

    def _explore(self, alpha: float) -> None:
        """Block after block, until the confirmation needs what is left or nothing more is to be found."""
        while True:
            left = self._runs.affordable()
            best = self._best()
            timed = self._meter.budget.seconds is not None
            room = left - self._reserve.runs(best, self._pair_s(best), left, left + self._meter.runs, alpha, timed)
            room = max(0 if self._search.ranking else _FIRST_RUNS, room)
            points = self._search.ask(room)
            self._exhausted = not points and room >= 2
            if not points or not self._race({p: self._setting(p) for p in points}, room):
                return

    def _race(self, settings: Mapping[Point, Setting], room: int, phase: str = SEARCH) -> bool:
        """Run points of the space side by side and tell the search; False where nothing more can run."""
        patience, until_s, ends_s = self._runs.patience_s(), math.inf, self._meter.budget.seconds
        if ends_s is not None and not self._question.sweep:
            share_s = room * self._costs.typical_s / len(settings)
            patience = min(patience, max(share_s, _LEAST_PATIENCE * self._costs.slowest_baseline_s))
            # what is slower than the search is used to does not eat up what the confirmation of a candidate needs
            if self._best() is not None:
                until_s = ends_s - (self._runs.affordable() - room) * self._costs.typical_s
        samples = self._runs.block(list(settings.values()), phase, patience, True, until_s).samples
        outcomes = {p: self._runs.outcome(samples[s.key]) for p, s in settings.items() if s.key in samples}
        self._search.tell(outcomes)
        ranking = self._search.ranking
        self._report(phase, self._setting(ranking[0]) if ranking else None, len(settings))
        return len(outcomes) == len(settings) or (bool(outcomes) and self._meter.seconds >= until_s)

    def _pair_s(self, point: Point | None) -> float:
        return self._runs.pair_s(None if point is None else self._setting(point).key)

    def _promises_more(self) -> bool:
        """Whether some other setting is expected to gain more than what counts as nothing."""
        point = self._best()
        return point is not None and self._search.gain(point, self._search.reference)[0] > self._question.within

    # --- the candidate

    def _reduced(self, point: Point, alpha: float) -> tuple[Setting, Point]:
        """The candidate with what adds nothing put back, as Setting and as point of the space."""
        reduction = Reduction(self._search, self._options.space, self._question.within, point)
        left = self._runs.affordable()
        room = int(left - min(left, self._reserve.needed(self._best(), left + self._meter.runs, alpha)))
        while points := reduction.ask(room):
            room -= len(points)
            if not self._race({p: self._setting(reduction.bare(p)) for p in points}, room, REDUCE):
                break
        reduced = reduction.point
        for values in (reduction.bare(reduced), reduced, reduction.bare(point)):
            setting = self._setting(values)
            if setting.key != BASELINE and self._start(setting) not in self._closed:
                return setting, reduced
        return self._setting(point), point

    def _ablations(self, candidate: Setting) -> dict[str, Setting]:
        """For each axis that the candidate sets, the candidate without it, where that is another setting and may run."""
        default = self._options.space.default
        arms: dict[str, Setting] = {}
        for name, value in candidate.values.items():
            rest = Point({k: v for k, v in candidate.values.items() if k != name})
            if value == default[name] or self._search.failed(Point({**default, **rest})):
                continue
            other = self._setting(rest)
            if other.key != BASELINE and self._start(other) != self._start(candidate):
                arms[name] = other
        return arms

    def _confirm_on(self, candidate: Setting, point: Point, alpha: float) -> Compared:
        """As `_confirm`; again with the share of `alpha` then left, where the blocks planned left it open and the budget has more.

        That may be since blocks took less than expected, or since a larger budget was given to decide it.
        """
        share, self._judged = 1.0, None
        while True:
            budget, before = self._meter.budget, self._judged
            compared = replace(self._confirm(candidate, point, alpha * share), share=share)
            larger = self._meter.budget is not budget
            more = 0 if self._judged is None or self._judged is before else self._judged.fewest_more
            again = 0 < more <= self._meter.affordable(self._pair_s(point) / 2) // 2 and share > _LEAST_SHARE
            if compared.ended != "budget" or compared.won or not (larger or again):
                return compared
            share *= 1 - _FIRST_SHARE

    def _confirm(self, candidate: Setting, point: Point, alpha: float) -> Compared:
        """Compare a candidate with the baseline in fresh blocks."""
        arms = self._ablations(candidate)
        affordable = self._meter.affordable((pair := self._pair_s(point)) / 2)
        kept = self._reserve.for_ablation(point, len(arms), affordable, affordable - 2 * fewest_blocks(alpha))
        # fewer than the fewest say nothing: these come before all else, and may go over the seconds by a run
        fewest = fewest_blocks(alpha)
        over = 1 if self._meter.budget.runs is None else 0
        blocks = min(_MOST_BLOCKS, max((affordable - kept) // 2, min(fewest, (affordable + over) // 2)))
        if blocks < fewest:
            return Compared("budget")
        before = self._judged
        # what is kept serves the comparison where it is open when the rest is spent
        most = min(_MOST_BLOCKS, affordable // 2) if kept else blocks
        looks = first_looks(blocks, most, alpha) if before is None else further_looks(before.count, blocks, alpha)
        self._blocks.restart()
        keys = {n: s.key for n, s in arms.items()}
        self._writer.add_plan(Plan(candidate.key, looks.at, looks.alpha, keys, tuple(arms)))
        quota = self._question.machine.limits.cpu_quota
        judged = Confirmation(looks, self._question.within, quota, self._question.accept_disturbed)
        judged = self._judged = judged if before is None else before.going_on(looks)
        stopped = "budget"
        expected = self._search.gain(point, self._search.reference)[0]
        asked_at = 0
        while judged.count < looks.at[-1]:
            if self._meter.affordable(pair / 2) < (2 if judged.count >= fewest else 2 - over):
                break
            block = self._runs.block([self._baseline, candidate], CONFIRM, self._runs.patience_s(), searching=False)
            if len(block.samples) < 2:
                break
            base, mine = block.samples[BASELINE], block.samples[candidate.key]
            self._search.tell({self._search.reference: self._runs.outcome(base), point: self._runs.outcome(mine)})
            self._cut[candidate.key] += mine.cut_off
            if self._cut[candidate.key] >= MOST_CUT or (
                not mine.ok and not mine.cut_off and self._search.failed(point)
            ):
                return Compared(FAILED, looked=judged.count >= looks.at[0])
            self._report(CONFIRM, candidate, 2)
            if judged.add(block):
                stopped = "decided"
                break
            # what is kept would make the interval narrower only
            if kept and judged.count == blocks and judged.word is Word.FASTER:
                break
            if judged.count >= asked_at * (1 + _ASKED_AGAIN):
                asked_at = judged.count
                if self._is_overtaken(candidate, point, expected, alpha):
                    return Compared(OVERTAKEN, looked=judged.count >= looks.at[0])
        won = judged.word is Word.FASTER
        fails = functools.partial(self._fails, candidate, point)
        if won and not Ablate(self._runs, self._meter, pair / 2, self._question.within, fails).run(candidate, arms):
            return Compared(FAILED, looked=True)
        return Compared(stopped, won, looked=True)

    def _is_overtaken(self, candidate: Setting, point: Point, expected: float, alpha: float) -> bool:
        """Whether another setting is surely faster than the candidate, and the runs left can still confirm that one."""
        if self._runs.affordable() < 2 * fewest_blocks(alpha * (1 - _FIRST_SHARE)):
            return False
        other, little = self._best(self._start(candidate)), self._reserve.disappoints(point, expected)
        return other is not None and self._reserve.is_surely_faster(other, point, little)

    def _fails(self, candidate: Setting, point: Point, samples: Mapping[str, Sample]) -> bool:
        """Whether after these runs of a block the candidate counts as one that fails."""
        self._cut.update(key for key, sample in samples.items() if sample.cut_off)
        mine = samples.get(candidate.key)
        if mine is None or mine.ok:
            return False
        self._search.tell({point: self._runs.outcome(mine)})
        return self._cut[candidate.key] >= MOST_CUT or self._search.failed(point)


def tune(
    question: Question,
    launcher: Launcher,
    observe: Callable[[Progress], None] = lambda _: None,
    before_block: Callable[[], None] = lambda: None,
    announce: Callable[[Outline], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    spent_s: float = 0.0,
    recall: Recall = nothing_recalled,
) -> TuneVerdict:
    """Answer a question: see `Tuner.run`; `clock` gives the seconds of the budget, of which `spent_s` are gone."""
    return Tuner(question, launcher, observe, before_block, announce, clock, spent_s, recall).run()
