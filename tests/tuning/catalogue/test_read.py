# SPDX-License-Identifier: BSD-3-Clause
"""The catalogue of knobs: its files, and those of a folder of one's own."""

import re
from importlib import resources

import pytest

from nodewise.base.errors import InputError
from nodewise.records.kept_variables import KEPT_VARIABLES
from nodewise.tuning.catalogue.knob import Choice
from nodewise.tuning.catalogue.read import OWN_FOLDER, load_catalogue, read_library
from tests.catalogue import CATALOGUE, KNOBS


def test_every_file_is_read_and_packaged():
    files = {p.name for p in resources.files("nodewise.tuning.catalogue").iterdir() if p.name.endswith(".toml")}
    assert files == {f"{library.name}.toml" for library in CATALOGUE}
    assert len(CATALOGUE) >= 17 and len(KNOBS) >= 40


@pytest.mark.parametrize("library", CATALOGUE, ids=lambda library: library.name)
def test_every_entry_is_complete(library):
    text = (OWN_FOLDER / f"{library.name}.toml").read_text()
    assert text.startswith("# SPDX-License-Identifier")
    for knob in library.knobs:
        assert knob.source.startswith("https://") and knob.meaning and knob.helps and knob.usual
        assert re.fullmatch(r"[A-Z][A-Z0-9_a-z]*", knob.setter.variable)
        assert knob.setter.variable.split("_")[0].isupper()
        assert not {"threads", "placement", "memory", "hugepages", "allocator"} & {knob.name}
        for choice in knob.choices:
            assert choice.text.isprintable() and choice.text == choice.text.strip()
            assert all(re.fullmatch(r"[a-z0-9_]+", flag) for flag in choice.needs)
        # numbers of threads are the axis's
        assert not re.search(r"NUM_THREADS|MAXPROCS", knob.setter.variable)
    for follower in library.followers:
        assert follower.follows == "threads" and follower.source.startswith("https://")
    assert all(name in {other.name for other in CATALOGUE} for name in library.unless)


GOOD = """
name = "mine"
title = "Mine"
about = "a library"
source = "https://example.org"
files = ["libmine*.so*"]
[[knob]]
name = "mine-speed"
variable = "MINE_SPEED"
values = ["fast", { is = "faster", set = "11", needs = ["avx2"] }]
usual = "slow"
meaning = "how fast"
helps = "it is faster"
exact = true
worth = 50
source = "https://example.org/speed"
"""


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('name = "mine"', "", "name is missing"),
        ('title = "Mine"', "title = 5", "title must be a text"),
        ('title = "Mine"', 'title = " "', "title is empty"),
        ('name = "mine"', 'name = "My Lib"', "name must be words"),
        # the key at fault is the misspelt one, whichever is missed first
        ('title = "', 'titel = "', "title is missing; titel is no key that is known here"),
        ('files = ["libmine*.so*"]', "", "files is missing"),
        ('files = ["libmine*.so*"]', "files = [1]", "files must be a list of texts"),
        ('files = ["libmine*.so*"]', 'files = ["a"]\ncolour = "red"', "colour is no key"),
        ('variable = "MINE_SPEED"', 'variable = "MINE SPEED"', "knob mine-speed variable must be the name"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nform = "odd"', "knob mine-speed form must be one of"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nform = "tunable"', "knob mine-speed part is missing"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nform = "options"', "knob mine-speed replaces is missing"),
        ('variable = "MINE_SPEED"', 'variable = "X"\nreplaces = "("', "knob mine-speed replaces is no regular"),
        ('"fast", {', '"fast", "fast", {', "knob mine-speed values must be different"),
        ('"fast", {', '"default", {', "none of them 'default'"),
        ('"fast", {', "3, {", "value 1 must be a table"),
        ('is = "faster"', 'was = "faster"', "knob mine-speed value 2 is is missing"),
        ('needs = ["avx2"]', 'requires = ["avx2"]', "value 2 requires is no key"),
        ("exact = true", "exact = false", "knob mine-speed risk is missing"),
        ("exact = true", "exact = 1", "knob mine-speed exact must be true or false"),
        ('set = "11"', 'spellings = ["11"]', "knob mine-speed ask is missing"),
        ("worth = 50", "worth = 101", "worth must be from 0 to 100"),
        ("worth = 50", "worth = true", "worth must be a whole number"),
        ("https://example.org/speed", "the manual", "knob mine-speed source must be an address"),
        ('usual = "slow"', "", "knob mine-speed usual is missing"),
        ("[[knob]]", "[knob]", "knob must be a list"),
        ("[[knob]]", "[[knob", "is not valid TOML"),
    ],
)
def test_a_broken_file_is_refused_by_file_and_key(tmp_path, old, new, named):
    assert old in GOOD
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    assert read_library(file).knobs[0].choices[1] == Choice("faster", "11", ("avx2",))
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_library(file)
    assert str(file) in caught.value.what and named in caught.value.what


def test_a_follower_must_say_where_the_number_stands(tmp_path):
    file = tmp_path / "mine.toml"
    text = (
        GOOD
        + '[[follower]]\nvariable = "N"\nfollows = "threads"\ntemplate = "n"\nmeaning = "m"\nsource = "https://x"\n'
    )
    file.write_text(text)
    with pytest.raises(InputError, match="follower N template must hold"):
        read_library(file)
    file.write_text(text.replace('"n"', '"n={n}"'))
    assert read_library(file).followers[0].template == "n={n}"


def test_a_folder_of_ones_own_adds_and_replaces(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    (tmp_path / "go.toml").write_text(GOOD.replace("mine", "go"))
    found = {library.name: library for library in load_catalogue([tmp_path])}
    assert found["mine"].knobs[0].name == "mine-speed"
    assert [k.name for k in found["go"].knobs] == ["go-speed"]
    with pytest.raises(InputError, match="cannot read the catalogue's folder"):
        load_catalogue([tmp_path / "gone"])
    (tmp_path / "third.toml").write_text(GOOD.replace('"mine"', '"third"'))
    from nodewise.tuning.catalogue import read

    read._read_folder.cache_clear()
    with pytest.raises(InputError, match="mine-speed is in mine and in third"):
        load_catalogue([tmp_path])


def test_each_variable_of_a_knob_is_kept_with_an_experiment() -> None:
    variables = {k.setter.variable for library in load_catalogue() for k in library.knobs if k.setter.variable}
    assert len(variables) > 20
    assert {v for v in variables if not v.startswith(KEPT_VARIABLES)} == set(), "add them to records/kept_variables.py"
