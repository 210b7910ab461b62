# SPDX-License-Identifier: BSD-3-Clause
"""Help in groups, with examples: the one source of `--help`, the manual pages and docs/commands.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nodewise.base.units import MOST_WHOLE

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Groups of options that many commands have. Those of one command alone come before them.
MEASUREMENT = "Measurement"
PROGRAM = "Program"
METRICS = "Metrics and checks"
MACHINE = "Machine"
NODES = "Nodes"
JOB = "Batch system"
OUTPUT = "Output"
OTHER = "Other"
_SHARED = (MEASUREMENT, PROGRAM, METRICS, MACHINE, NODES, JOB, OUTPUT, OTHER)


class Example(NamedTuple):
    """A command line that is typed as it stands, and what it is for."""

    line: str
    does: str


class GroupedOption(click.Option):
    """An option with the heading that it stands under in the help; `help` may be a function, asked when it is read."""

    def __init__(self, *args: Any, group: str = OTHER, **kwargs: Any) -> None:
        self._written = kwargs.pop("help") if callable(kwargs.get("help")) else None
        super().__init__(*args, **kwargs)
        self.group = group

    @property
    def help(self) -> str | None:
        """What it does: for the help, the manual's pages and the site alike."""
        return self._written() if self._written is not None else self._told

    @help.setter  # noqa: A003 - the name is click's
    def help(self, told: str | None) -> None:
        self._told = told

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What may follow what is typed: by its own rule, or the values that its metavar names."""
        if found := super().shell_complete(ctx, incomplete):
            return found
        from click.shell_completion import CompletionItem

        from nodewise.cli.completion import between_strokes

        return [CompletionItem(value) for value in between_strokes(self.metavar) if value.startswith(incomplete)]


def option(*spelled: str, group: str, **attributes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`click.option` with a `group`; a whole number is at most `MOST_WHOLE` and at least -`MOST_WHOLE`."""
    kind = attributes.get("type")
    if kind is int:
        attributes["type"] = _Whole()
    elif type(kind) is click.IntRange and kind.max is None:
        attributes["type"] = _WholeFrom(kind.min)
    return click.option(*spelled, cls=GroupedOption, group=group, **attributes)


class _Bounded:
    """A whole number with which everything behind it can reckon: Python's own have no end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)  # type: ignore[misc]  # of the class beside it
        if abs(number) > MOST_WHOLE:
            raise click.BadParameter(f"it is beyond ±{MOST_WHOLE}.", ctx=ctx, param=param)
        return number


class _Whole(_Bounded, click.types.IntParamType):
    """Any whole number within the bounds."""


class _WholeFrom(_Bounded, click.IntRange):
    """A whole number from one on."""


def may_be_repeated(option: click.Option) -> bool:
    """Whether nothing is lost where it is given again."""
    return option.multiple or option.count or option.is_flag


def _given_again(option: click.Option, count: int) -> str:
    again = "twice" if count == 2 else f"{count} times"
    said = "; its values have commas between them" if "," in (option.metavar or "") or option.metavar == "LIST" else ""
    return f"{option.opts[-1]} is given {again}, and can be only once{said}."


class Command(click.Command):
    """A command whose help shows its examples, and its options in groups."""

    def __init__(self, *args: Any, examples: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = [Example(line, does) for line, does in (examples or {}).items()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, which would take the last of an option's values and lose the others. Raises UsageError for those."""
        if not ctx.resilient_parsing:
            try:
                order = self.make_parser(ctx).parse_args(args=list(args))[2]
            except click.UsageError as problem:
                # of an option without its value click does not say of which command
                problem.ctx = problem.ctx or ctx
                raise
            for option in dict.fromkeys(order):
                if isinstance(option, click.Option) and order.count(option) > 1 and not may_be_repeated(option):
                    raise click.UsageError(_given_again(option, order.count(option)), ctx)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The text, and the examples below it."""
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for line, does in self.examples:
                    # as it is typed: never broken
                    formatter.write(
                        f"{'':>{formatter.current_indent}}# {does}\n{'':>{formatter.current_indent}}{line}\n"
                    )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, group by group."""
        for heading, options in grouped(self, ctx).items():
            with formatter.section(heading):
                formatter.write_dl([record for one in options if (record := one.get_help_record(ctx)) is not None])


def grouped(command: click.Command, context: click.Context) -> dict[str, list[click.Option]]:
    """The options of any command by their headings: those of the command alone first, what is in no group last."""
    found: dict[str, list[click.Option]] = {}
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            found.setdefault(getattr(parameter, "group", OTHER), []).append(parameter)
    if found.keys() == {OTHER}:
        return {"Options": found[OTHER]}
    return {name: found[name] for name in _in_order(found) if name in found}


def _in_order(names: Iterable[str]) -> Sequence[str]:
    return [*(name for name in names if name not in _SHARED), *_SHARED]


def examples(command: click.Command) -> Sequence[Example]:
    """The examples of any command; none where it shows none."""
    return command.examples if isinstance(command, Command) else ()
