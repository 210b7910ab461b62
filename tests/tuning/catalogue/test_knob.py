# SPDX-License-Identifier: BSD-3-Clause
"""What a knob's value writes into the variables, in addition to what the user has there."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.tuning.catalogue.knob import Setter, apply
from tests.catalogue import KNOBS

WORDS = st.text(st.sampled_from("abcxyz_.019-+"), min_size=1, max_size=8)
ENTRIES = st.lists(st.tuples(st.sampled_from(["glibc.a", "glibc.b", "glibc.c", "x"]), WORDS), max_size=6)


@given(ENTRIES, WORDS)
def test_a_tunable_is_joined_to_the_others(entries, text):
    setter = Setter("GLIBC_TUNABLES", "tunable", "glibc.b")
    before = {"GLIBC_TUNABLES": ":".join(f"{k}={v}" for k, v in entries)} if entries else {}
    after = setter.write(text, before)
    assert setter.read(after) == text
    rest = [tuple(e.split("=", 1)) for e in after["GLIBC_TUNABLES"].split(":")]
    assert [e for e in rest if e[0] != "glibc.b"] == [e for e in entries if e[0] != "glibc.b"]
    assert sum(e[0] == "glibc.b" for e in rest) == 1
    assert setter.write(text, after) == after
    assert setter.erase(after) == setter.erase(before)
    assert setter.read({"GLIBC_TUNABLES": setter.erase(after)}) is None


@given(st.text(max_size=40), WORDS)
def test_whatever_the_user_has_there_what_is_written_is_read(held, text):
    for setter in (
        Setter("V"),
        Setter("V", "tunable", "a.b"),
        Setter("V", "conf", "a"),
        Setter("V", "debug", "a"),
        Setter("V", "options", replaces=r"-X[+-]?.*"),
    ):
        said = f"-X{text}" if setter.form == "options" else text
        after = setter.write(said, {"V": held})
        assert setter.read(after) == said
        assert setter.write(said, after) == after


@given(ENTRIES, WORDS, WORDS)
def test_two_tunables_do_not_disturb_each_other(entries, one, two):
    held = {"GLIBC_TUNABLES": ":".join(f"{k}={v}" for k, v in entries)}
    a, b = Setter("GLIBC_TUNABLES", "tunable", "glibc.a"), Setter("GLIBC_TUNABLES", "tunable", "glibc.b")
    after = b.write(two, a.write(one, held))
    assert a.read(after) == one and b.read(after) == two


def test_glibc_itself_takes_what_is_written():
    loader = next((p for p in Path("/lib64").glob("ld-linux*.so*")), None)
    if loader is None:
        pytest.skip("no loader of glibc's at the usual place")
    environment = dict(os.environ)
    for name, value in (("malloc-arenas", "4"), ("malloc-mmap-threshold", "64MiB"), ("malloc-thread-cache", "127")):
        environment |= apply(KNOBS[name], value, environment)
    done = subprocess.run([loader, "--list-tunables"], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this glibc does not list its tunables")
    held = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert held["glibc.malloc.arena_max"].split()[0] == "0x4"
    assert held["glibc.malloc.mmap_threshold"].split()[0] == hex(64 << 20)
    assert held["glibc.malloc.tcache_count"].split()[0] == hex(127)


@pytest.mark.parametrize(("knob", "value", "most"), [("malloc-thread-cache", "4096", 65535)])
def test_values_are_within_bounds(knob, value, most):
    assert int(KNOBS[knob].choice(value).text) <= most


def test_options_of_java_keep_the_users_others():
    knob = KNOBS["java-collector"]
    held = {"JAVA_TOOL_OPTIONS": "-Xmx2g -XX:+UseG1GC -Dx=y"}
    assert apply(knob, "parallel", held) == {"JAVA_TOOL_OPTIONS": "-Xmx2g -Dx=y -XX:+UseParallelGC"}
    assert apply(knob, "serial", {}) == {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"}


def test_values_of_jemalloc_are_joined():
    held = {"MALLOC_CONF": "thp:always,background_thread:false"}
    after = apply(KNOBS["jemalloc-background"], "true", held)
    assert after == {"MALLOC_CONF": "thp:always,background_thread:true"}


def test_the_default_sets_nothing_and_another_value_is_an_error():
    assert apply(KNOBS["wait"], "default", {}) == {}
    assert apply(KNOBS["wait"], "active", {}) == {"OMP_WAIT_POLICY": "active"}
    with pytest.raises(KeyError, match="wait has no value 'lazy'"):
        apply(KNOBS["wait"], "lazy", {})
    with pytest.raises(KeyError):
        apply(KNOBS["wait"], "unset", {})
