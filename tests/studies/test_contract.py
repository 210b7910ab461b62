# SPDX-License-Identifier: BSD-3-Clause
"""Knobs: what they can be, and what a tune of a study tries."""

from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.studies.commands import default_command, tunable_command
from nodewise.studies.contract import Knob, parse_knobs
from nodewise.studies.discovery import find_study


@pytest.mark.parametrize(
    ("knob", "good", "bad"),
    [
        (Knob("n", "", "1"), ("1", "77"), ("0", "-1", "x", "1.5", "", "٣", "1e3")),
        (Knob("n", "", "0", least=0, most=9), ("0", "9"), ("10", "-0x1")),
        (Knob("n", "", "0", least=-2, most=2), ("-2", "2"), ("-3", "3", "--1", "-")),
        (Knob("n", "", "a", ("a", "b")), ("a", "b"), ("c", "A")),
        (
            Knob("n", "", "1", most=2**20, unit=1),
            ("1", "64KiB", "1MB", "1.5kB"),
            ("0", "KiB", "2MiB", "1XB", "1e3", "0KiB"),
        ),
        (Knob("n", "", "", text=True), ("a b", "/x"), ()),
        (Knob("n", "", "1", real=True), ("1", "-0.5", "1e-310", "+2."), ("x", "", "1,5", "1_0", "nan", "inf", "1e999")),
    ],
)
def test_a_knob_takes_what_it_says(knob: Knob, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    for value in good:
        knob.read(value)
    for value in bad:
        with pytest.raises(InputError, match=r"knob n|--n: "):
            knob.read(value)


def test_a_size_may_have_a_suffix() -> None:
    assert Knob("n", "", "1", unit=1).read("1.5KiB") == "1536"
    assert Knob("kib", "", "1", unit=2**10).read("2MiB") == "2048"
    assert Knob("kib", "", "1", unit=2**10).read("77") == "77"
    with pytest.raises(InputError, match="knob kib counts 1 KiB, and 1MB is no whole number"):
        Knob("kib", "", "1", unit=2**10).read("1MB")
    assert find_study("hash").study.point({"speed": "50MB", "chunk-size": "1MiB"}) | {
        "speed": "50000000",
        "chunk-size": "1048576",
    } == find_study("hash").study.point({"speed": "50MB", "chunk-size": "1MiB"})


def test_a_knob_that_is_given_again_gets_all_values() -> None:
    assert parse_knobs(["file=a", "n=1", "file=b,c", "x=a=b"]) == {"file": "a,b,c", "n": "1", "x": "a=b"}
    with pytest.raises(InputError, match="not '1,2'"):
        Knob("n", "", "1").read(parse_knobs(["n=1", "n=2"])["n"])


def test_a_knob_that_means_nothing_beside_another_is_not_there() -> None:
    study = find_study("krylov").study
    assert {"n", "flow"} <= set(study.point({}))
    assert not {"n", "flow"} & set(study.point({"file": "A.mtx"}, quick=True))
    assert study.point({"file": "", "n": "5"})["n"] == "5"
    with pytest.raises(InputError, match="knob flow means nothing beside file"):
        study.point({"file": "A.mtx", "flow": "1"})


def test_a_tune_tries_the_variants_and_the_knobs_that_are_not_given() -> None:
    command, tries = tunable_command("is", ["class=S"])
    assert command[command.index("--variant") + 1] == "{variant}"
    assert "counter={counter}" in command and "class=S" in command
    # in this order they are tried
    assert list(tries.items()) == [("variant", ("bucketed", "counting", "narrow")), ("counter", ("8", "16"))]


def test_a_tune_gives_the_worker_all_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.studies.commands.find_library", lambda library: Path("/lib") / library.files[0])
    command, tries = tunable_command("compress", ["kind=text"])
    assert {"zlib-6", "zlib-1", "isal-0"} <= set(tries["variant"])
    given = command[command.index("--library") + 1]
    assert "zlib=/" in given and "isal=/" in given and command.count("--library") == 1


def test_what_is_given_is_not_tried() -> None:
    command, tries = tunable_command("is", ["class=S", "variant=narrow", "counter=16"])
    assert tries == {}
    assert command == default_command("is", ["class=S", "variant=narrow", "counter=16"])


def test_an_unknown_variant_or_word_is_one_clear_message() -> None:
    for words in (["variant=none"], ["class"], ["=S"], ["class="], ["wings=2"]):
        with pytest.raises(InputError):
            tunable_command("is", words)


def test_what_is_no_size_names_the_option_as_it_is_typed() -> None:
    with pytest.raises(InputError) as refused:
        Knob("speed", "", "0", unit=1).read("1MBx")
    assert refused.value.hint == "write it such as --speed 500MB or --speed 64KiB"
