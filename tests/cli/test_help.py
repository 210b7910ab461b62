# SPDX-License-Identifier: BSD-3-Clause
"""The help of every command: its options in groups, each in one; examples that its command line takes as they stand."""

import shlex

import click
import pytest

from nodewise.api.place import BINDINGS
from nodewise.cli import help as groups
from nodewise.cli.main import nodewise_command
from nodewise.placement.policies import POLICIES
from tests.cli.conftest import Command

ROOT = click.Context(nodewise_command, info_name="nodewise")
COMMANDS = nodewise_command.list_commands(ROOT)
#: No group is longer, so that one finds what one looks for at a glance.
LONGEST = 20
#: As long as there are dialects, each with its option.
FILLED = "Dialects"


def _command(name: str) -> click.Command:
    command = nodewise_command.get_command(ROOT, name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_stands_in_a_group_once(name: str) -> None:
    command = _command(name)
    context = click.Context(command, ROOT, name)
    found = groups.grouped(command, context)
    shown = [option.name for options in found.values() for option in options]
    assert sorted(map(str, shown)) == sorted(
        str(p.name) for p in command.get_params(context) if isinstance(p, click.Option)
    )
    assert [option.opts[-1] for option in found["Other"]] == ["--help"]
    assert max(len(options) for heading, options in found.items() if heading != FILLED) <= LONGEST
    # whatever else there is, what is printed and written stands behind it
    assert list(found)[-1] == "Other" and ("Output" not in found or list(found)[-2] == "Output")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_groups_and_examples(name: str, nodewise: Command) -> None:
    said = nodewise(name, "--help").stdout
    assert "\nOptions:" not in said
    for line, does in groups.examples(_command(name)):
        assert f"\n  # {does}\n  {line}\n" in said


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_examples_that_it_takes(name: str) -> None:
    shown = groups.examples(_command(name))
    assert len(shown) >= 2
    for line, does in shown:
        words = shlex.split(line)
        assert words[:2] == ["nodewise", name] and does
        # reads all words, options with their values, and begins nothing
        command = nodewise_command.resolve_command(ROOT, words[1:])[1]
        assert command is not None
        command.make_context(name, words[2:], parent=ROOT)


def test_an_option_that_several_commands_share_stands_in_one_group() -> None:
    found: dict[str, set[str]] = {}
    for name in COMMANDS:
        command = _command(name)
        for heading, options in groups.grouped(command, click.Context(command, ROOT, name)).items():
            for option in options:
                found.setdefault(option.opts[-1], set()).add(heading)
    for name in (
        "--budget",
        "--metric",
        "--cwd",
        "--seed",
        "--out",
        "--json",
        "--resume",
        "--hosts",
        "--launcher",
        "--submit",
    ):
        assert len(found[name] - ({"Dialects"} if name == "--hosts" else set())) == 1, (name, found[name])


def test_place_names_every_policy(nodewise: Command) -> None:
    said = " ".join(nodewise("place", "--help").stdout.split())
    listed = said.split("POLICY (")[1].split(")")[0].split(", ")
    assert listed == [*POLICIES, *BINDINGS]
    for policy in listed:
        assert nodewise("place", policy, "--machine", "synthetic:core:2 pu:1").returncode == 0


def test_a_command_of_another_package_has_plain_options() -> None:
    @click.command()
    @click.option("--depth", help="How deep.")
    def outside() -> None:
        """Brought by a package."""

    assert list(groups.grouped(outside, click.Context(outside))) == ["Options"]
    assert groups.examples(outside) == ()


def test_machine_prints_tables(nodewise: Command) -> None:
    said = nodewise("machine", "--table", "--machine", "synthetic:pack:2 core:2 pu:2").stdout
    assert "processor  thread  core  socket  NUMA" in said and "2       4-7" not in said
    assert "1       2      4-7" in said
