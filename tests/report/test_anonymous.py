# SPDX-License-Identifier: BSD-3-Clause
"""What strangers are shown: a word is planted in every field that a user fills, and looked for in all that is made."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodewise.cli.main import main
from nodewise.machine.sources import load_machine
from nodewise.records.columns import Record
from nodewise.records.experiment import Writer
from nodewise.records.inherited import inherited_facts
from nodewise.records.sample_lines import Neighbour, Plan, ran_meanwhile
from nodewise.runner.isolation import Isolation
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.encoding import encode
from tests.questions import compare_question, tune_question
from tests.report.stored import study_result

#: Each word is somewhere once; all of them begin alike, so that one look finds any.
_PLANTED = re.compile(rb"zq[a-z]+zq", re.IGNORECASE)
_START = {
    "cwd": "/home/zqwhozq/zqcwdzq",
    "stdin": "/data/zqinputzq.dat",
    "env": {"ZQVARZQ": "zqvaluezq", "OMP_TOOL_LIBRARIES": "/opt2/zqtoolzq.so"},
    "limits": {},
}
_COMMON: dict[str, Any] = {
    "asked": ["nodewise", "tune", "zqaskedzq"],
    "cwd": "/scratch/zqprojectzq/zqrunzq",
    "environment": {"OMP_DISPLAY_ENV": "/home/zqhomezq/x"},
    "objective": {"metric": "zqpricezq/s", "maximise": True},
    "shown": {"metrics": [{"metric": "zqshownzq", "maximise": False}], "currency": ""},
}


def _sample(seconds: float, text: str = "zqprintedzq") -> Sample:
    return Sample(
        seconds,
        seconds,
        1.0,
        metrics={"zqpricezq": 5.0 / seconds, "zqshownzq": 2.0, "flops": 1e9},
        usage={"user_s": seconds},
        conditions={"load_average": 0.1},
        marks=("other load: /usr/local/zqmarkzq took it",) if text else (),
        error="" if seconds < 9 else "exit code 3 of /home/zqwhozq/zqerrorzq, zqshownzq is missing",
        output=text,
    )


def _tune(folder: Path) -> None:
    values: dict[str, list[Any]] = {"zqparamzq": ["zqonezq", "zqtwozq"], "size": ["1K", "2K"], "threads": [1, 2]}
    wanted = {
        "parameters": {k: values[k] for k in ("zqparamzq", "size")},
        "variables": {"ZQSWITCHZQ": ["zqonzq", "zqoffzq"]},
        "build": "make zqbuildzq",
        "isolation": ["runc,volume=/home/zqvolumezq/zqdatazq:ro"],
        "constraints": ["zqparamzq == 'zqonezq' or threads > 1"],
    }
    axes = {**values, "ZQSWITCHZQ": ["unset", "zqonzq", "zqoffzq"]}
    machine = {**tune_question()["machine"], "hostname": "zqhostzq.example.org", "source": "xml:/home/zqwhozq/m.xml"}
    same = {"kind": "pattern", "what": "zqpatternzq", "tolerance": 1e-9, "reference": "baseline"}
    command = ["/apps/zqappzq/bin/zqsolverzq", "--in={zqparamzq}", "zqdeckzq.inp", "{size}"]
    question = tune_question(
        **_COMMON, command=command, wanted=wanted, axes=axes, start=_START, machine=machine, same_output=same
    )
    settings = [Setting(tuple(command), name="baseline")]
    settings += [
        Setting(
            tuple(command),
            {"zqparamzq": p, "size": "2K", "threads": 2, "ZQSWITCHZQ": "zqonzq"},
            {"ZQSWITCHZQ": "zqonzq", "ZQVARZQ": "zqvaluezq", "OMP_NUM_THREADS": "2"},
            build="make zqbuildzq FLAGS=-O2",
            isolation=Isolation("runc", ("/home/zqvolumezq/zqdatazq:ro",)),
        )
        for p in ("zqonezq", "zqtwozq")
    ]
    with Writer(folder, question) as writer:
        for block in range(1, 9):
            for at, one in enumerate(settings):
                writer.add(Record(one.key, "search" if block < 3 else "confirm", block, at, _sample(1.0 + at)), one)
        writer.add_plan(Plan(settings[1].key, (6,), 0.05, {"zqparamzq": settings[2].key}))
        broken = Setting(("zqbrokenzq",), {"zqparamzq": "zqthirdzq"}, broken="zqcompilerzq: error in /home/zqwhozq/a.c")
        writer.add(Record(broken.key, "search", 2, 5, _sample(10.0)), broken)
        writer.keep_reference("zqreferencezq")
        writer.add_difference(0, "line 1: zqdifferencezq")
        writer.store_result({"sentence": "zqsentencezq"})


def _compare(folder: Path) -> None:
    names = ("zqoldzq", "zqnewzq", "zqthird zqcommandzq")
    question = compare_question(*names, **_COMMON)
    for i, one in enumerate(question["contenders"]):
        one["text"] = f"/apps/zqapp{'abc'[i]}zq --mode=zqmode{'abc'[i]}zq 2>zqlogzq.txt"
        one["shell"] = "/opt2/zqshellzq"
        one["steps"] = {name: f"true zq{name}zq" for name in ("setup", "prepare", "conclude", "cleanup")}
    settings = [
        Setting((f"/apps/zqapp{c}zq",), {"zqparamzq": f"zqv{c}zq", "n": 3}, name=name)
        for c, name in zip("abc", names, strict=True)
    ]
    with Writer(folder, question) as writer:
        for block in range(1, 9):
            for at, one in enumerate(settings):
                writer.add(Record(one.key, "compare", block, at, _sample(1.0 + at)), one)
        writer.add(Record(settings[0].key, "compare", 9, 0, _sample(10.0)), settings[0])


@pytest.mark.parametrize("make", [_tune, _compare])
def test_no_word_of_the_users_own_is_in_anything_that_is_made(
    make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "zqfolderzq"
    make(folder)
    out = tmp_path / "out"
    out.mkdir()
    files = ["--html", str(out / "x.html"), "--csv", str(out / "x.csv"), "--svg", str(out / "svg")]
    assert main(["report", str(folder), "--anonymous", *files]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["report", str(folder), "--anonymous", "--json"]) == 0
    answer = capsys.readouterr().out
    (out / "x.json").write_text(answer)
    made = {p.name: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert any(name.endswith(".svg") for name in made)
    assert {n: set(_PLANTED.findall(data)) for n, data in made.items() if _PLANTED.search(data)} == {}
    # what is alike in one is alike in the others
    assert all(b"metric-1" in made[file] for file in ("x.html", "x.csv", "x.json"))
    assert all(b"param-1" in made[file] for file in ("x.html", "x.json"))
    verdict = json.loads(answer)
    assert verdict["metric"] == "metric-1/s" and verdict["shown"] == ["metric-2"]
    # and without it they are there
    assert main(["report", str(folder), "--html", str(out / "y.html")]) == 0
    assert _PLANTED.search((out / "y.html").read_bytes())


def test_what_is_nodewises_own_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _tune(tmp_path / "e")
    assert main(["report", str(tmp_path / "e"), "--anonymous", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    keys = {s["key"] for s in verdict["settings"]}
    assert "param-1=value-1 param-2=2K threads=2 param-3=value-3" in keys and len(keys) == 4


def _own_study(folder: Path) -> None:
    found = json.dumps(encode(study_result()))
    planted = {row.contender for row in study_result().rows} | {study_result().study}
    for at, name in enumerate(sorted(planted, key=len, reverse=True)):
        found = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", f"zqname{'abcdefghijkl'[at]}zq", found)
    verdict = json.loads(found)
    verdict |= {"kind": "study", "title": "zqtitlezq", "report_lines": ["zqlinezq"], "work": {"zqworkzq": 2.0}}
    (folder.parent / "zqa b; zqczq").mkdir()
    others = [Neighbour(n, "zqotherzq", "run", str(folder.parent / "zqa b; zqczq")) for n in range(5)]
    met = [*ran_meanwhile(others), *ran_meanwhile(others[:1]), str(Neighbour(7, "zqotherzq", "run", "/dev/shm/zqxzq"))]
    verdict |= {"point": {"zqknobzq": "zqvaluezq"}, "conditions": met}
    for row in verdict["rows"]:
        row |= {"metrics": {"zqmetriczq": 2.0}, "unit": "zqunitzq/s", "point": {"zqknobzq": "zqvaluezq"}}
    question = {**tune_question(), **_COMMON, "kind": "study", "study": verdict["study"], "readme": "# zqreadmezq"}
    question |= {"point": verdict["point"], "only": [verdict["rows"][0]["contender"]], "user": "zquserzq"}
    with Writer(folder, question) as writer:
        writer.store_result({"results": [verdict]})


def test_what_a_study_of_ones_own_calls_its_things_is_in_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _own_study(tmp_path / "e")
    files = ["--html", str(tmp_path / "x.html"), "--csv", str(tmp_path / "x.csv"), "--svg", str(tmp_path / "svg")]
    assert main(["report", str(tmp_path / "e"), "--anonymous", *files]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["report", str(tmp_path / "e"), "--anonymous", "--json"]) == 0
    answer = capsys.readouterr().out
    made = answer.encode() + b"".join(p.read_bytes() for p in [*tmp_path.glob("x.*"), *tmp_path.glob("svg/*")])
    assert set(_PLANTED.findall(made)) == set()
    verdict = json.loads(answer)
    assert verdict["study"] == "own-study" and verdict["point"] == {"param-1": "value-1"}
    first = verdict["rows"][0]
    assert first["contender"] == "contender-1" and list(first["metrics"]) == ["metric-3"]
    assert verdict["best"] in {row["contender"] for row in verdict["rows"]}


def test_it_is_anonymous_wherever_it_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = {**tune_question()["machine"], "hostname": "zqhostzq.example.org"}
    names = ("zqhostzq/a", "by zquserzq")
    question = compare_question(*names, user="zquserzq", home="/scratch/zqhomezq", cwd="/project/x", machine=machine)
    settings = [Setting(("x",), name=name) for name in names]
    mark = "at zqhostzq zquserzq took /scratch/zqhomezq/x"
    with Writer(tmp_path / "e", question) as writer:
        for block in range(1, 9):
            for at, one in enumerate(settings):
                sample = Sample(1.0 + at, 1.0 + at, 1.0, error=mark if block == 8 else "", marks=(mark,))
                writer.add(Record(one.key, "compare", block, at, sample), one)

    def made() -> str:
        assert main(["report", str(tmp_path / "e"), "--anonymous", "--json"]) == 0
        return capsys.readouterr().out

    here = made()
    assert not _PLANTED.search(here.encode())
    # who looks at it, and where, is in none of it: "undecided" is the reporter's name, and that of the machine
    monkeypatch.setattr("socket.gethostname", lambda: "undecided")
    monkeypatch.setattr("getpass.getuser", lambda: "undecided")
    monkeypatch.setenv("HOME", "/undecided")
    monkeypatch.setenv("TMPDIR", "/undecided")
    assert made() == here


def test_whose_an_experiment_is_stands_in_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "annabell")
    facts = inherited_facts(load_machine(), {"HOME": "/scratch/annabell"}, [])
    assert (facts["user"], facts["home"]) == ("annabell", "/scratch/annabell")
