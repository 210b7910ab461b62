# SPDX-License-Identifier: BSD-3-Clause
"""report.html in a real browser, and what it is made of."""

import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from benchmarks._stored import write_tune
from nodewise.base.errors import InputError
from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import Contender
from nodewise.experiments.tune import tune
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_experiment
from nodewise.report.exports.rows import sample_rows_csv
from nodewise.report.figures.experiment import make_figures
from nodewise.report.pages.tune import tune_page
from nodewise.report.pages.write import write_page
from nodewise.report.tables import label
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.statistics.verdict import Word
from nodewise.verdicts.judge import judge_tune
from nodewise.verdicts.stored import read_stored, stored
from tests.report.measuring import watched
from tests.surfaces import Scripted, machine, many_core

#: Goes with the process.
KEPT = tempfile.TemporaryDirectory()
HOSTILE = "</script><img src=x onerror=alert(1)>"


class Described(Scripted):
    """Scripted samples with what a real run carries."""

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        sample = super().run(setting, timeout_s=timeout_s)
        marks = ("steal: the hypervisor took 3% of the processor time",) if self.runs % 17 == 0 else ()
        usage = {"user_s": 1.0, "peak_bytes": 5e6, "migrations": 2.0}
        conditions = {"steal_s": 0.0, "energy_j": sample.wall_s * (80 + setting.values.get("threads", 244))}
        return dataclasses.replace(sample, usage=usage, conditions=conditions, marks=marks)


def _experiment(path: Path, kind: str) -> Path:
    """A tune of a kind at a path of the test's own; made once, since it takes a second."""
    shutil.copytree(_made(kind), path)
    return path


@cache
def _made(kind: str) -> Path:
    path = Path(KEPT.name) / kind
    programs: dict[str, Any] = {
        "many cores": (machine(61, 4), many_core, 250, -1),
        "flat": (machine(2, 1, live=True), lambda _: 2.0, 60, -1),
        "interrupted": (machine(61, 4), many_core, 250, 60),
        "failing": (machine(4, 2), lambda s: "exit code 1" if s.values.get("threads") == 8 else many_core(s), 100, -1),
    }
    where, seconds, runs, interrupt = programs[kind]
    command = ("./app", HOSTILE)
    question = Question(command, where, ("threads", "placement", "hugepages"), path, Budget(None, runs), environment={})
    tune(question, Described(seconds, interrupt_at=interrupt))
    return path


def _open(browser: Browser, path: Path) -> tuple[Page, list[str]]:
    """The page at a laptop's size, and everything that it should not have done."""
    view, wrong = watched(browser, 1280, 800)
    view.goto(path.as_uri())
    view.wait_for_function(
        "document.querySelectorAll('.figure').length === document.querySelectorAll('.figure svg').length"
    )
    return view, wrong


@pytest.mark.parametrize("kind", ["many cores", "flat", "failing", pytest.param("interrupted", marks=pytest.mark.long)])
def test_the_page_opens_offline_without_an_error_and_shows_the_answer(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    directory = _experiment(tmp_path / "x", kind)
    view, wrong = _open(browser, write_page(directory))
    verdict = read_stored(directory).verdict
    answer = view.locator("#answer")
    box = answer.bounding_box()
    assert box is not None and box["y"] + box["height"] < 800
    assert verdict.sentence in answer.inner_text()
    assert view.locator("#launch").inner_text() == verdict.best.launch_line
    assert HOSTILE in view.locator("#launch").inner_text().replace("'", "")
    assert view.locator("#figure-time-over-threads svg").count() == 1
    assert view.locator("#figure-distributions svg").count() == 1
    assert view.locator("#figure-pareto-energy_j svg").count() == 1
    assert view.locator(".drawing svg").count() >= 1
    assert wrong == []


def test_the_table_sorts_by_a_click(browser: Browser, tmp_path: Path) -> None:
    view, wrong = _open(browser, write_page(_experiment(tmp_path / "x", "many cores")))
    medians = "[...document.querySelectorAll('table.sortable tbody tr')].map(r => +r.children[1].dataset.value)"
    head = view.locator("table.sortable th", has_text="median")
    head.click()
    assert view.evaluate(medians) == sorted(view.evaluate(medians))
    head.click()
    assert view.evaluate(medians) == sorted(view.evaluate(medians), reverse=True)
    assert wrong == []


@pytest.mark.long
def test_it_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    view, _ = _open(browser, write_page(_experiment(tmp_path / "x", "flat")))
    view.set_viewport_size({"width": 390, "height": 800})
    assert view.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, pytest.param(800, marks=pytest.mark.long)])
def test_figures_are_drawn_as_wide_as_the_page_has_room(browser: Browser, tmp_path: Path, width: int) -> None:
    view, _ = watched(browser, width, 844)
    view.goto(write_page(_experiment(tmp_path / "x", "many cores")).absolute().as_uri())
    view.wait_for_function("[...document.querySelectorAll('.figure')].every(f => f.querySelector('svg'))")
    wide = view.evaluate(
        "[...document.querySelectorAll('.figure')].filter(f => f.querySelector('svg').getBoundingClientRect().width > f.clientWidth + 1).length"
    )
    assert wide == 0
    # a page that becomes wider has wider figures
    before = view.evaluate("document.querySelector('.figure svg').getBoundingClientRect().width")
    view.set_viewport_size({"width": width + 80, "height": 844})
    view.wait_for_function(f"document.querySelector('.figure svg').getBoundingClientRect().width > {before} + 40")


#: Those that a figure leaves out, as they would meet, are there without being seen.
_MEETING = """f => { const texts = [...f.querySelectorAll('.mark-text.role-axis-label > text')];
const boxes = texts.filter(t => getComputedStyle(t).opacity !== '0').map(t => t.getBoundingClientRect());
return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
  a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length }"""


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
def test_long_names_are_whole_and_apart_on_any_page(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    names = [
        f"./solver of a name that is long --with option={i} input-of-a-long-name.dat {'x' * 30}{i}" for i in range(3)
    ]
    contenders = tuple(Contender(Setting(("true",), name=name), name) for name in names)
    question = CompareQuestion(
        contenders,
        machine(4, 2),
        tmp_path / "c",
        Budget(1000.0),
        most=20,
        fewest=20,
        environment={},
        accept_disturbed=True,
    )
    compare(question, Described(lambda s: 1.0 + 0.1 * int(s.name[-1])))
    # names are shortened where they stay apart: here they are drawn as they are
    monkeypatch.setattr("nodewise.report.figures.experiment.labels_of", lambda e: {key: key for key in e.settings})
    view, wrong = _open(browser, write_page(tmp_path / "c"))
    view.set_viewport_size({"width": width, "height": 844})
    view.wait_for_timeout(500)
    for name in ("distributions", "ratios"):
        figure = view.locator(f"#figure-{name}")
        assert "…" not in figure.inner_text()
        assert "".join(names[1].split()) in "".join(figure.inner_text().split())
        assert figure.evaluate(_MEETING) == 0
    right = "[...document.querySelectorAll('#answer td')].map(c => c.getBoundingClientRect().right)"
    edge = view.evaluate("document.querySelector('#answer').getBoundingClientRect().right")
    assert width > 600 or max(view.evaluate(right)) <= edge
    # vega says that a height by rows is not fitted, which is as it is meant
    assert [one for one in wrong if "WARN Dropping" not in one] == []


def test_of_a_single_run_no_spread_is_shown(tmp_path: Path) -> None:
    directory = _experiment(tmp_path / "x", "many cores")
    found = read_stored(directory)
    page = tune_page(found)
    single = [s for s in found.verdict.settings if s.runs == 1]
    assert single and all(s.mad == 0 for s in single)
    assert '<td data-value="0.0">0 ns</td>' not in page and '<td data-value="0.0">–</td>' in page
    charts = make_figures(found.experiment, found.verdict)
    assert "Hollow points: too few runs for an interval." in charts["time-over-threads"].to_json()


@pytest.mark.long
def test_nothing_is_cut_on_a_desktop(browser: Browser, tmp_path: Path) -> None:
    names = [f"./solver of a name that is long --with option={i} input-of-a-long-name.dat" for i in range(3)]
    contenders = tuple(Contender(Setting(("true",), name=name), name) for name in names)
    here = machine(4, 2)
    question = CompareQuestion(
        contenders, here, tmp_path / "c", Budget(1000.0), most=8, environment={}, accept_disturbed=True
    )
    compare(question, Described(lambda s: 0.01 * len(s.key)))
    view, _ = watched(browser, 1400)
    view.goto(write_page(tmp_path / "c").absolute().as_uri())
    view.wait_for_function("[...document.querySelectorAll('.figure')].every(f => f.querySelector('svg'))")
    view.wait_for_function(
        "[...document.querySelectorAll('.figure, .scroll, section')].every(e => e.scrollWidth <= e.clientWidth + 1)",
        timeout=15000,
    )


def test_a_page_of_what_is_not_decided_shows_how_the_next_one_looked_and_what_would_decide(tmp_path: Path) -> None:
    experiment = read_experiment(_experiment(tmp_path / "x", "many cores"))
    verdict = judge_tune(experiment)
    undecided = dataclasses.replace(
        verdict, verdict=Word.UNDECIDED, best=verdict.baseline, more_runs=36, stopped="budget"
    )
    shown = tune_page(stored(experiment, undecided))
    name = label(experiment.settings[verdict.candidate].values)
    # as the terminal says it
    assert f"next: {name}, which looked " in shown and "as fast in these runs, and is not confirmed" in shown
    assert verdict.comparison is not None
    pair = dataclasses.replace(verdict.comparison, ratio=0.7)
    worse = tune_page(stored(experiment, dataclasses.replace(undecided, comparison=pair)))
    assert f"next: {name}, which looked no better in these runs" in worse
    assert "About 36 more runs would probably decide it" in shown and f"nodewise tune --resume {tmp_path}/x" in shown
    assert "next: " not in tune_page(stored(experiment, verdict))


def test_the_looks_named_are_those_at_the_setting_that_was_confirmed(tmp_path: Path) -> None:
    experiment = read_experiment(_experiment(tmp_path / "x", "many cores"))
    verdict = judge_tune(experiment)
    (plan,) = [p for p in experiment.plans if p.candidate == verdict.candidate]
    other = next(key for key in experiment.settings if key != plan.candidate)
    # a comparison begun later, which came to nothing
    experiment.plans[:] = [
        dataclasses.replace(plan, looks=(6, 9, 14)),
        dataclasses.replace(plan, candidate=other, looks=(6,)),
    ]
    assert "up to 3 looks at it were planned" in tune_page(stored(experiment, verdict))
    nothing_said = dataclasses.replace(verdict, low=None, high=None)
    assert "planned, and it holds" not in tune_page(stored(experiment, nothing_said))


def test_the_page_forbids_the_network_and_stays_small(tmp_path: Path) -> None:
    text = write_page(_experiment(tmp_path / "x", "many cores")).read_text()
    assert "default-src 'none'" in text
    assert "connect-src" not in text
    assert HOSTILE not in text
    assert len(text) < 3_000_000


def test_a_line_cut_off_by_a_kill_is_passed_over(tmp_path: Path) -> None:
    directory = _experiment(tmp_path / "x", "many cores")
    samples = directory / "samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-30])
    (directory / "verdict.json").unlink()
    text = tune_page(read_stored(directory))
    assert "1 damaged line was skipped" in text
    assert "cut off before its end" in text


def test_without_a_good_run_it_says_so(tmp_path: Path) -> None:
    directory = _experiment(tmp_path / "x", "flat")
    (directory / "samples.jsonl").write_text("")
    with pytest.raises(InputError, match="no good run"):
        write_page(directory)


def test_it_is_written_where_the_native_part_cannot_be_loaded(tmp_path: Path) -> None:
    directory = _experiment(tmp_path / "x", "many cores")
    code = (
        "import sys; from importlib.machinery import ExtensionFileLoader as Loader\n"
        "made = Loader.create_module\n"
        "def create_module(self, spec):\n"
        "    if spec.name == 'nodewise._core': raise ImportError('libhwloc.so.15: cannot open shared object file')\n"
        "    return made(self, spec)\n"
        "Loader.create_module = create_module\n"
        "from pathlib import Path; from nodewise.report.pages.write import write_page; write_page(Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(directory)], check=True)
    assert (directory / "report.html").exists()


def test_every_sample_is_a_row_of_csv(tmp_path: Path) -> None:
    found = read_stored(_experiment(tmp_path / "x", "failing"))
    lines = sample_rows_csv(found).splitlines()
    assert len(lines) == len(found.experiment.records) + 1
    assert lines[0].startswith("setting,threads,placement,hugepages,phase,block,position,seconds")
    assert any("exit code 1" in line for line in lines)


def test_a_large_experiment_makes_a_page_of_the_same_size(tmp_path: Path) -> None:
    directory = _experiment(tmp_path / "x", "many cores")
    small = len(write_page(directory).read_text())
    samples = directory / "samples.jsonl"
    lines = [line for line in samples.read_text().splitlines() if json.loads(line)["type"] == "sample"]
    with samples.open("a") as file:
        file.writelines(line + "\n" for line in lines * 40)
    assert len(write_page(directory).read_text()) < small + 2_500_000


@pytest.mark.long
def test_what_is_cut_of_a_large_experiment_is_said_and_shown_on_demand(browser: Browser, tmp_path: Path) -> None:
    write_tune(tmp_path / "x", 3600, 120)
    view, wrong = _open(browser, write_page(tmp_path / "x"))
    rows = view.locator("table.sortable tbody tr")
    every = rows.count()
    assert every >= 120
    assert rows.filter(visible=True).count() == 100
    view.locator("table.sortable th", has_text="median").click()
    assert rows.filter(visible=True).count() == 100
    view.get_by_text(f"show all {every}").click()
    assert rows.filter(visible=True).count() == every
    assert "an even choice of at most 3000" in view.locator("ul").last.inner_text()
    assert wrong == []


def test_settings_are_named_in_words() -> None:
    assert label({}) == "baseline"
    assert label({"threads": 1, "placement": "os"}) == "1 thread, left to the system"
    assert (
        label({"threads": 4, "placement": "compact", "hugepages": "transparent"})
        == "4 threads, compact, hugepages transparent"
    )
