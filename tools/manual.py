# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages and shell completions, made from the commands: packaging/share, which the wheel installs below share/;
and the list of commands that `nodewise --help` shows without loading them.

.venv/bin/python tools/manual.py          writes them again
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import FishComplete, ZshComplete

from nodewise import __version__
from nodewise.cli.commands.tune import AXES_HELP, axes_help
from nodewise.cli.help import examples, grouped
from nodewise.cli.main import INDEX, SECTIONS, nodewise_command

SHARE = Path(__file__).parents[1] / "packaging" / "share"
#: Click asks bash for its version before it prints this, and a file is made for all machines.
_BASH = """# Completion of nodewise for bash 4.4 or newer.
_nodewise_completion() {
    local IFS=$'\\n' response completion kind value
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _NODEWISE_COMPLETE=bash_complete "$1")
    for completion in $response; do
        IFS=',' read -r kind value <<< "$completion"
        case $kind in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
    return 0
}
complete -o nosort -F _nodewise_completion nodewise
"""
_LINE = re.compile(r"\s*\n\s*")


def pages() -> dict[str, str]:
    """The text of each manual page by its file's name."""
    context = click.Context(nodewise_command, info_name="nodewise")
    found = {"nodewise.1": _page(context, nodewise_command)}
    for name, command in _commands(context):
        found[f"nodewise-{name}.1"] = _page(click.Context(command, context, name), command)
    return found


def completions() -> dict[str, str]:
    """The text of each shell's completion by its file below share/."""
    made = {"bash-completion/completions/nodewise": _BASH}
    for shell, file in (
        (ZshComplete, "zsh/site-functions/_nodewise"),
        (FishComplete, "fish/vendor_completions.d/nodewise.fish"),
    ):
        made[file] = shell(nodewise_command, {}, "nodewise", "_NODEWISE_COMPLETE").source().strip() + "\n"
    return made


def files() -> dict[str, str]:
    """All of them, by the file's name below share/."""
    return {**{f"man/man1/{name}": text for name, text in pages().items()}, **completions()}


def index() -> str:
    """The headings and short helps of the commands, as `nodewise --help` reads them."""
    context = click.Context(nodewise_command, info_name="nodewise")
    rows = (
        f"{json.dumps(name)}: {json.dumps(nodewise_command.summary(context, name))}" for name, _ in _commands(context)
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _commands(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in nodewise_command.list_commands(context):
        command = nodewise_command.get_command(context, name)
        assert command is not None
        yield name, command


def _quoted(text: str) -> str:
    """Text as troff reads it: hyphens that are typed, no requests at the beginning of a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def _joined(text: str) -> str:
    return _LINE.sub(" ", text.strip())


def _page(context: click.Context, command: click.Command) -> str:
    path = context.command_path.replace(" ", "-")
    help_text = (command.help or "").strip()
    first, _, rest = help_text.partition("\n\n")
    lines = [
        f'.TH "{path.upper()}" "1" "" "nodewise {__version__}" "nodewise"',
        ".SH NAME",
        f"{_quoted(path)} \\- {_quoted(_joined(first).rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_quoted(context.command_path)}",
        _quoted(" ".join(command.collect_usage_pieces(context))),
    ]
    if rest.strip():
        lines.append(".SH DESCRIPTION")
        lines += _paragraphs(rest)
    if isinstance(command, click.Group):
        lines += _list_of_commands(context)
    lines.append(".SH OPTIONS")
    for heading, options in grouped(command, context).items():
        lines += [f".SS {_quoted(heading)}"] if heading != "Options" else []
        for option in options:
            spelled, told = option.get_help_record(context) or ("", "")
            lines += [".TP", f".B {_quoted(spelled)}", _quoted(_joined(told))]
    if shown := examples(command):
        lines.append(".SH EXAMPLES")
        for line, does in shown:
            lines += [".PP", f"{_quoted(does[:1].upper() + does[1:])}:", ".PP", ".nf", f"    {_quoted(line)}", ".fi"]
    others = [] if isinstance(command, click.Group) else ["nodewise(1)"]
    lines += [".SH SEE ALSO", _quoted(", ".join([*others, "the pages of docs/, which come with the sources"]))]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    """Paragraphs as they are in a help text, where one that begins with \\b keeps its lines."""
    lines = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        kept = paragraph.lstrip().startswith("\b")
        rows = [row.strip() for row in paragraph.replace("\b", "").strip().splitlines()]
        lines += [".PP", *([".nf", *map(_quoted, rows), ".fi"] if kept else [_quoted(_joined("\n".join(rows)))])]
    return lines


def _list_of_commands(context: click.Context) -> list[str]:
    from importlib import import_module

    rows: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
    for name, command in _commands(context):
        section = str(import_module(f"nodewise.cli.commands.{name}").SECTION)
        rows[section].append((name, command.get_short_help_str(200)))
    lines = [".SH COMMANDS"]
    for section, several in rows.items():
        if several:
            lines.append(f".SS {section}")
        for name, told in several:
            lines += [".TP", f".B nodewise\\-{_quoted(name)}(1)", _quoted(told)]
    return lines


def write() -> None:
    """Write all files, and remove pages of commands that there are no longer."""
    # the page of tune shows it
    AXES_HELP.write_text(axes_help() + "\n")
    made = files()
    for old in (SHARE / "man" / "man1").glob("*.1"):
        if f"man/man1/{old.name}" not in made:
            old.unlink()
    for name, text in made.items():
        path = SHARE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    INDEX.write_text(index())


if __name__ == "__main__":
    write()
