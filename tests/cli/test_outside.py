# SPDX-License-Identifier: BSD-3-Clause
"""An exporter, a kind of experiment and an axis that packages outside bring, used as those of the house: the documents' own examples."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.outside import examples, nodewise_with, package
from tests.started import installed, started

EXPORTER = ("adding-an-exporter.md", "nodewise.exporters", "EXPORTER")
KIND = ("adding-an-experiment.md", "nodewise.experiments", "KIND")
AXIS = ("adding-an-axis.md", "nodewise.axes", "AXIS")


Nodewise = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodewise]:
    """The command line with the examples installed."""
    folder = tmp_path_factory.mktemp("outside")
    for document, group, attribute in (EXPORTER, KIND, AXIS):
        files = examples(document)
        assert len(files) == 1
        package(folder, files, group, attribute)
    with installed(folder) as nodewise:
        yield nodewise


def done(nodewise: Nodewise, *words: str) -> str:
    """What a command prints that ends well."""
    ended = nodewise(*words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_an_exporter_has_its_option_its_help_and_its_file(outside: Nodewise, tmp_path: Path) -> None:
    for command in ("compare", "report"):
        assert "A test for each command, as TAP writes it; - prints it." in " ".join(
            done(outside, command, "--help").split()
        )
    kept, written = str(tmp_path / "x"), tmp_path / "speed.tap"
    words = ("compare", "-r", "12", "--accept-disturbed", "--out", kept, "--export-tap", str(written))
    done(outside, *words, "sleep 0.001", "sleep 0.05")
    first, second = written.read_text().splitlines()[2:]
    assert first == "ok 1 - sleep 0.001"
    assert second.startswith("not ok 2 - sleep 0.05 # ") and "slower" in second
    assert done(outside, "report", kept, "--export-tap", "-") == written.read_text()


def test_a_kind_of_experiment_is_measured_drawn_exported_and_gone_on_with(outside: Nodewise, tmp_path: Path) -> None:
    assert "Say whether COMMAND takes longer" in done(outside, "--help")
    kept = tmp_path / "heat"
    assert "6 runs" in done(outside, "drift", "--runs", "6", "--out", str(kept), "--", "sleep", "0.001")
    assert "× as long at the end" in (kept / "report.html").read_text()
    found = json.loads(done(outside, "report", str(kept), "--json"))
    assert found == json.loads((kept / "verdict.json").read_text())
    assert found["kind"] == "drift" and found["runs"] == 6 and found["stopped"] == "runs"
    assert "6 runs" in done(outside, "report", str(kept), "--text")
    files = [str(tmp_path / name) for name in ("x.html", "figures", "x.csv")]
    done(outside, "report", str(kept), "--html", files[0], "--svg", files[1], "--csv", files[2])
    assert Path(files[0]).read_text() == (kept / "report.html").read_text()
    assert (tmp_path / "figures/runs.svg").exists() and len(Path(files[2]).read_text().splitlines()) == 7
    # a kill has cut off its last run
    samples = kept / "samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-30])
    (kept / "verdict.json").unlink()
    assert json.loads(done(outside, "drift", "--resume", str(kept), "--json"))["runs"] == 6


def test_what_a_kind_does_not_do_is_one_message(outside: Nodewise, tmp_path: Path) -> None:
    kept = str(tmp_path / "heat")
    done(outside, "drift", "--runs", "3", "--out", kept, "--", "true")
    for words, message in (
        (("report", kept, "--export-tap", "-"), "--export-tap is not for a drift"),
        (("confirm", kept), "holds a drift, which promises nothing; these do: compare, tune"),
        (("tune", "--resume", kept), "holds no tune that can be continued"),
    ):
        ended = outside(*words)
        assert ended.returncode == 2 and message in ended.stderr, ended.stderr
    question = Path(kept, "question.json")
    question.write_text(question.read_text().replace('"seed": 0', '"seed": "x"'))
    ended = outside("report", kept)
    assert ended.returncode == 2 and "question.json is damaged: seed: " in ended.stderr
    # without the package nobody knows what it is
    ended = nodewise_with(tmp_path, "report", kept)
    assert ended.returncode == 2 and "there is no kind of experiment 'drift'" in ended.stderr


def test_an_axis_is_in_the_help_tried_and_part_of_the_launch_line(outside: Nodewise, tmp_path: Path) -> None:
    assert "scheduling (policy of Linux), schedule, wait" in " ".join(done(outside, "tune", "--help").split())
    sweep = ("--sweep", "scheduling", "--max-runs", "15", "--accept-disturbed", "--out", str(tmp_path / "x"))
    # one for which its policy is all that counts
    slow = "case $(chrt -p $$) in *BATCH*) ;; *) sleep 0.3 ;; esac"
    found = json.loads(done(outside, "tune", *sweep, "--json", "--", "sh", "-c", slow))
    assert found["best"]["values"] == {"scheduling": "batch"}
    assert found["best"]["launch_line"].startswith("chrt --batch 0 sh -c ")
    # what others call theirs may say whose it is
    done(outside, "report", str(tmp_path / "x"), "--anonymous")
    assert "scheduling" in (tmp_path / "x/report.html").read_text()
    assert "scheduling" not in (tmp_path / "x/report-anonymous.html").read_text()
    for words, message in (
        (("--axes", "shedule"), "memory, isolation, scheduling, schedule, wait"),
        (("-P", "scheduling=1,2"), "scheduling is an axis of nodewise's own"),
    ):
        ended = outside("tune", *words, "--", "true", "{scheduling}")
        assert ended.returncode == 2 and message in ended.stderr, ended.stderr
    ended = outside("tune", "--axes", "scheduling", "--", "mpirun", "-n", "2", "true")
    assert ended.returncode == 2 and "the axis scheduling is of programs that start no ranks" in ended.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wait", "wait is an axis already"),
        pytest.param("Big", "its name has other characters", marks=pytest.mark.long),
        ("threads", "another has its name"),
    ],
)
def test_an_axis_that_cannot_be_is_one_message(tmp_path: Path, name: str, message: str) -> None:
    text = f"from nodewise.tuning.known import KnownAxis\nAXIS = KnownAxis({name!r}, lambda around: around.none)\n"
    folder = package(tmp_path, {"odd.py": text}, *AXIS[1:])
    ended = nodewise_with(folder, "tune", "--", "true")
    assert ended.returncode == 2 and f"the axis {name!r} of the package more-axiss 1.0" in ended.stderr
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from nodewise.records.kind import Kind\nKIND = Kind('odd', dict, '', '', '', '', '')\n", "it has no verdict"),
        ("KIND = 3\n", "is no Kind: 3"),
        ("import nowhere\n", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_kind_that_is_not_whole_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    folder = package(tmp_path, {"odd.py": text}, *KIND[1:])
    ended = nodewise_with(folder, "--help")
    assert ended.returncode == 2 and "the kind of experiment 'odd'" in ended.stderr and message in ended.stderr


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison, made where no package is installed."""
    folder = tmp_path_factory.mktemp("measured")
    ended = started("compare", "-r", "2", "--accept-disturbed", "--out", "kept", "true", "true 1", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return folder / "kept"


BROKEN = """
from nodewise.report.exports.exporter import Exporter
def export(stored):
    %s
EXPORTER = Exporter("broken", "It breaks", export)
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("return str(stored.verdict.nothing / 0)", "AttributeError: ", marks=pytest.mark.long),
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        pytest.param("import json; return json.loads('{')", "JSONDecodeError: ", marks=pytest.mark.long),
        pytest.param("return 7", "it gave no text but int", marks=pytest.mark.long),
        pytest.param("raise OSError('x')", "OSError: x", marks=pytest.mark.long),
    ],
)
def test_an_exporter_that_fails_is_named_with_its_package(
    measured: Path, tmp_path: Path, body: str, message: str
) -> None:
    folder = tmp_path / "outside"
    folder.mkdir()
    package(folder, {"broken.py": BROKEN % body}, "nodewise.exporters", "EXPORTER")
    ended = nodewise_with(folder, "report", str(measured), "--export-broken", "-")
    assert ended.returncode == 2 and "defect" not in ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert f"error: the exporter 'broken' of the package more-exporters 1.0 failed: {message}" in ended.stderr
