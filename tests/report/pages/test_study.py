# SPDX-License-Identifier: BSD-3-Clause
"""The page of a study, from stored results."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import pytest
from playwright.sync_api import Browser

from nodewise.report.exports.pictures import write_pictures
from nodewise.report.exports.rows import study_rows_csv
from nodewise.report.figures.study import study_figures
from nodewise.report.pages.study import not_run, published_rows, readme_html, table_of
from nodewise.report.pages.write import write_page
from nodewise.statistics.verdict import Word
from nodewise.verdicts.stored import read_stored
from nodewise.verdicts.study import StudyVerdict
from tests.report.pages.test_tune import HOSTILE, _open
from tests.report.stored import judged, series, study_page_of, study_result, with_row

README = (
    "# Pretend\n\nWhat *it* is.\n\n| contender | what |\n| --- | --- |\n| `plain` | plainly |\n\n## Traps\n\n- one\n"
)


def _hostile() -> StudyVerdict:
    result = with_row(study_result(title=HOSTILE), "absent", not_run=HOSTILE)
    return with_row(result, "blocked", contender=HOSTILE)


def test_the_page_opens_offline_and_shows_the_answer(browser: Browser, tmp_path: Path) -> None:
    view, wrong = _open(browser, study_page_of(study_result(), README, tmp_path / "x"))
    said = view.locator("#answer").inner_text()
    assert "1.60× the best peer" in said and "against library" in said and "80% of the limit (flops f64)" in said
    assert view.locator("#figure-rates-1 svg").count() == 1
    drawn = view.locator("#figure-rates-1").inner_text()
    assert "limit: flops f64, 50 Gitems/s" in drawn and "40 · 1.60× the best peer" in drawn
    assert "scikit-learn is not installed" in view.locator(".absent").inner_text()
    assert view.locator("#readme h3").inner_text() == "Traps"
    assert view.locator("#readme td code").inner_text() == "plain"
    assert wrong == []


def test_the_page_is_safe_whatever_the_texts_are(browser: Browser, tmp_path: Path) -> None:
    view, wrong = _open(browser, study_page_of(_hostile(), README + HOSTILE, tmp_path / "x"))
    assert HOSTILE in view.locator("#readme").inner_text()
    assert HOSTILE in view.locator("#answer").inner_text()
    assert wrong == []


def test_the_page_has_the_conditions_that_the_terminal_names(tmp_path: Path) -> None:
    result = replace(study_result(), conditions=("steal of 3% in <all> runs",))
    assert (
        "<li>condition: steal of 3% in &lt;all&gt; runs</li>"
        in study_page_of(result, README, tmp_path / "x").read_text()
    )


def test_a_stored_study_is_drawn_again(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    page = study_page_of(study_result(), README, folder)
    text = page.read_text()
    page.unlink()
    assert write_page(folder).read_text() == text
    record = read_stored(folder)
    assert record.kind.name == "study" and record.verdicts == (study_result(),)
    assert record.machine.pus and record.question.readme == README
    (svg,) = write_pictures(study_figures(record.verdicts), tmp_path / "x.svg", "svg")
    assert "limit: flops f64" in svg.read_text()
    lines = study_rows_csv(record).splitlines()
    assert len(lines) == 7 and "error_ulp" in lines[0] and lines[1].startswith("pretend,blocked,variant")


@pytest.mark.parametrize(
    "results", [[study_result()], [study_result({"n": n}, s) for n, s in (("64", 0.05), ("1024", 0.02))]]
)
def test_every_figure_is_a_valid_specification(results: list[StudyVerdict]) -> None:
    figures = study_figures(results)
    assert list(figures) == (["rates-1"] if len(results) == 1 else ["curves", "rates-1", "rates-2"])
    for chart in figures.values():
        altair.Chart.from_dict(chart.to_dict()).to_dict(validate=True)


@pytest.mark.long
def test_several_runs_have_a_curve_over_the_one_knob_that_differs(browser: Browser, tmp_path: Path) -> None:
    runs = [study_result({"n": str(n)}, 0.05 - n * 1e-5) for n in (64, 256, 1024)]
    view, wrong = _open(browser, study_page_of(runs, README, tmp_path / "x"))
    assert view.locator("#figure-curves svg").count() == 1
    assert "n 1024, 2 threads" in view.locator("#answer").inner_text()
    assert wrong == []
    both = [study_result({"n": "1", "m": "1"}), study_result({"n": "2", "m": "2"})]
    assert "curves" not in study_figures(both)


def test_a_title_of_many_knobs_goes_on_in_another_line() -> None:
    title = study_figures([study_result({f"a_longer_knob_{i}": "1" for i in range(12)})])["rates-1"].to_dict()["title"]
    assert len(title["text"]) > 1 and all(len(line) < 100 for line in title["text"])
    assert " ".join(title["text"]).endswith("a_longer_knob_3 1, 2 threads, and 8 more knobs")


def test_of_many_knobs_a_title_names_what_differs_between_runs(tmp_path: Path) -> None:
    knobs = {f"knob{i}": "1" for i in range(17)}
    runs = [study_result({**knobs, "n": n}) for n in ("10", "20")]
    titles = [study_figures(runs)[f"rates-{i}"].to_dict()["title"]["text"] for i in (1, 2)]
    assert "knob16 1, n 20, 2 threads" in study_page_of(runs, "# title", tmp_path / "x").read_text()
    assert titles == [f"pretend: n {n}, knob0 1, knob1 1, knob2 1, 2 threads, and 14 more knobs" for n in ("10", "20")]


def test_the_table_has_the_columns_that_say_something() -> None:
    table = table_of(study_result())
    assert table["heads"] == [
        *(
            "contender",
            "kind",
            "time",
            "Gitems/s",
            "GFLOP/s",
            "GB/s",
            "to best peer",
            "to plain",
            "of limit",
            "error ulp",
        )
    ]
    first = [c["text"] for c in table["rows"][0]["cells"]]
    assert first == ["blocked", "variant", "25 ms", "40", "160", "80", "1.60× (1.58–1.62)", "4.00×", "80%", "1.5"]
    assert [r["best"] for r in table["rows"]] == [True, False, False, False, False]
    assert not_run(study_result()) == [("absent", "peer", "scikit-learn is not installed")]
    timed = with_row(study_result(), "blocked", metrics={"setup_s": 0.0125}, how="libthing.so.2")
    assert table_of(timed)["heads"][-1] == "setup" and table_of(timed)["rows"][0]["cells"][-1]["text"] == "12.5 ms"
    assert table_of(timed)["how"] == [("blocked", "libthing.so.2")]
    bare = study_result()
    nothing: dict[str, Any] = dict.fromkeys(("flops", "bytes", "rate_low", "rate_high", "against_plain"))
    for one in bare.rows:
        bare = with_row(bare, one.contender, metrics={}, **nothing)
    assert "GFLOP/s" not in table_of(bare)["heads"]
    assert study_figures([bare])


def test_published_figures_are_shown_with_those_measured_here() -> None:
    (one,) = published_rows([study_result()])
    assert one["value"] == "12" and one["here"] == "100 ms, 10 Gitems/s"
    nobody = replace(study_result().published[0], contender="")
    assert published_rows([study_result(published=(nobody,))])[0]["here"] == ""


def test_the_headline_without_peers_or_without_any_variant() -> None:
    assert judged([series("plain", "variant", 0.1)]).headline == "10 Gitems/s"
    alone = judged([series("plain", "variant", None)])
    assert alone.headline == "No variant could run"
    assert study_figures([alone]) == {}


def test_a_readme_is_shown_without_its_title() -> None:
    html = str(readme_html("# Title\n\n## Part\n\n<b>bold</b> [x](javascript:alert(1))\n"))
    assert "Title" not in html and "<h3>Part</h3>" in html
    assert "<b>" not in html and "href" not in html


def _pictured(for_scale: str = "", **study: Any) -> StudyVerdict:
    speeds = {"blocked": (2.0, 500.0), "plain": (3.0, 40.0), "library": (1.5, 300.0)}
    given = [
        series(
            name,
            "peer" if name == "library" else "variant",
            seconds,
            ratio=speeds[name][0],
            mbs=speeds[name][1],
            for_scale=float(name == for_scale),
        )
        for name, seconds in (("blocked", 0.025), ("plain", 0.1), ("library", 0.04))
    ]
    return judged(given, picture=("ratio", "mbs"), **study)


def test_a_study_with_a_picture_has_its_front_and_what_it_reports_on_the_page(browser: Browser, tmp_path: Path) -> None:
    result = replace(_pictured(), report_lines=("take blocked", HOSTILE))
    view, wrong = _open(browser, study_page_of(result, README, tmp_path / "x"))
    drawn = view.locator("#figure-pareto-1").inner_text()
    assert "ratio against mbs, more of both is better" in drawn
    assert "blocked" in drawn and "plain" in drawn and "another is better in both" in drawn
    assert view.locator(".report-lines").inner_text() == f"take blocked\n{HOSTILE}"
    assert wrong == []


def test_a_front_needs_two_contenders_and_a_study_that_asks_for_it() -> None:
    assert "pareto-1" in study_figures([_pictured()])
    assert "pareto-1" not in study_figures([study_result()])
    assert "pareto-1" not in study_figures([study_result(picture=("error_ulp", "flops"))])


def test_what_is_for_scale_is_in_the_table_and_not_in_the_front_or_the_headline() -> None:
    result = _pictured(for_scale="blocked")
    kinds = {row["cells"][0]["text"]: row["cells"][1]["text"] for row in table_of(result)["rows"]}
    assert kinds["blocked"] == "for scale" and list(kinds.values()).count("for scale") == 1
    assert result.best == "plain" and result.headline != _pictured().headline
    assert "blocked" in study_figures([_pictured()])["pareto-1"].to_json()
    assert "blocked" not in study_figures([result])["pareto-1"].to_json()


def test_the_page_claims_no_more_than_the_verdict() -> None:
    """A ratio that is not decided is on no bar and colours no headline."""
    even = judged([series("mine", "variant", 0.1, 0.4), series("library", "peer", 0.1, 0.4)])
    assert even.verdict is Word.UNDECIDED
    drawn = study_figures([even])["rates-1"].to_json()
    assert "undecided against the best peer" in drawn and "\u00d7 the best peer" not in drawn


@pytest.mark.long
def test_what_was_published_is_read_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    view, _ = _open(browser, study_page_of(study_result(), README, tmp_path / "x"))
    view.set_viewport_size({"width": 390, "height": 844})
    cells = view.locator("table.stacked td")
    assert cells.count() >= 5
    boxes = [cells.nth(i).bounding_box() for i in range(cells.count())]
    assert all(b and b["x"] >= 0 and b["x"] + b["width"] <= 390 and b["width"] > 150 for b in boxes)
