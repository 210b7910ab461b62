# SPDX-License-Identifier: BSD-3-Clause
"""The file of a pipeline, read and checked: what cannot be is refused, with line and key, before anything starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.meant import meant
from nodewise.base.toml_lines import TomlLines, read_toml
from nodewise.pipelines.graph import check_graph
from nodewise.pipelines.kinds import KINDS, UnfitError, count, seconds, size, text
from nodewise.pipelines.plan import Channel, Device, Plan

#: Those that join processes; inproc is for threads.
TRANSPORTS = ("shm", "ipc", "tcp", "ofi+tcp", "ofi+shm")
_MOST_INSTANCES = 4096
#: Most that a channel may hold: of messages as of bytes the transport takes no more.
_MOST_MESSAGES, _MOST_ROOM = 1 << 20, 1 << 36
_PIPELINE, _DEVICE, _CHANNEL = "pipeline", "device", "channel"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_EXAMPLE = 'such as:\n[device.source]\nkind = "generator"\n[device.out]\nkind = "discard"\n[channel.raw]\nfrom = "source"\nto = "out"'


def read_pipeline(path: Path) -> Plan:
    """The pipeline of a file. Raises InputError that names file, line and key for what cannot be."""
    data, lines = read_toml(path)
    _known(lines, "", data, (_PIPELINE, _DEVICE, _CHANNEL))
    general = _table(lines, _PIPELINE, data.get(_PIPELINE, {}))
    _known(lines, _PIPELINE, general, ("transport", "duration", "place"))
    transport = _transport(lines, f"{_PIPELINE}.transport", general.get("transport", "shm"))
    duration = general.get("duration")
    if duration is not None:
        duration = _read(lines, f"{_PIPELINE}.duration", duration, seconds)
    devices = [
        _device(lines, name, table, general.get("place")) for name, table in _named(lines, data, _DEVICE).items()
    ]
    channels = [
        _channel(lines, name, table, transport, [d.name for d in devices])
        for name, table in _named(lines, data, _CHANNEL).items()
    ]
    plan = Plan(path, tuple(devices), tuple(channels), duration, lines)
    check_graph(plan)
    return plan


def _named(lines: TomlLines, data: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    tables = data.get(what)
    if tables is None or tables == {}:
        raise InputError(f"{lines.at('')[:-2]} names no {what}", f"write {_EXAMPLE}")
    tables = _table(lines, what, tables)
    for name in tables:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{lines.at(f'{what}.{name}')}: a name has letters, digits, hyphens and underscores, 64 at most"
            )
        _table(lines, f"{what}.{name}", tables[name])
    return tables


def _table(lines: TomlLines, at: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{lines.at(at)} is no table", f"write [{at}]")
    return value


def _known(lines: TomlLines, at: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            name = f"{at}.{key}".lstrip(".")
            raise InputError(
                f"{lines.at(name)}: there is no such key{meant(key, known)}", f"keys are: {', '.join(known)}"
            )


def _read(lines: TomlLines, at: str, value: Any, read: Callable[[Any], Any]) -> Any:
    try:
        return read(value)
    except UnfitError as problem:
        raise InputError(f"{lines.at(at)}: {problem}, not {value!r}") from problem
    except InputError as problem:
        raise InputError(f"{lines.at(at)}: {problem.what}", problem.hint) from problem


def _transport(lines: TomlLines, at: str, value: Any) -> str:
    if value not in TRANSPORTS:
        raise InputError(
            f"{lines.at(at)}: {value!r} is no transport{meant(str(value), TRANSPORTS)}",
            f"transports are: {', '.join(TRANSPORTS)}",
        )
    return str(value)


def _device(lines: TomlLines, name: str, table: Mapping[str, Any], place: Any) -> Device:
    at = f"{_DEVICE}.{name}"
    if "kind" not in table:
        raise InputError(f"{lines.at(at)} does not say what it is", f"give kind, one of: {', '.join(KINDS)}")
    if not isinstance(table["kind"], str) or table["kind"] not in KINDS:
        raise InputError(
            f"{lines.at(f'{at}.kind')}: {table['kind']!r} is no kind of device{meant(str(table['kind']), KINDS)}",
            f"kinds are: {', '.join(KINDS)}",
        )
    kind = KINDS[table["kind"]]
    _known(lines, at, table, ("kind", "instances", "place", "rank", "host", *kind.keys))
    instances = _read(lines, f"{at}.instances", table.get("instances", 1), count)
    if instances > _MOST_INSTANCES:
        raise InputError(f"{lines.at(f'{at}.instances')}: more than {_MOST_INSTANCES} processes of one device")
    settings: dict[str, Any] = {}
    for key, read in kind.keys.items():
        if key in table:
            settings[key] = _read(lines, f"{at}.{key}", table[key], read)
        elif key in kind.defaults:
            settings[key] = kind.defaults[key]
        else:
            raise InputError(f"{lines.at(at)} has no {key}", f"a device of the kind {table['kind']} needs it")
    if "rank" in table and "host" in table:
        raise InputError(f"{lines.at(f'{at}.host')}: rank and host both say where it runs", "give one of them")
    return Device(
        name,
        table["kind"],
        instances,
        settings,
        table.get("place", place),
        (None,) * instances,
        _each(lines, f"{at}.rank", table.get("rank"), instances, _rank),
        _each(lines, f"{at}.host", table.get("host"), instances, text),
    )


def _each(lines: TomlLines, at: str, value: Any, instances: int, read: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    """One for each instance: the same for all, or a list."""
    if value is None:
        return None
    if not isinstance(value, list):
        return (_read(lines, at, value, read),) * instances
    if len(value) != instances:
        raise InputError(f"{lines.at(at)}: one is needed for each instance, {instances} in all, not {len(value)}")
    return tuple(_read(lines, at, one, read) for one in value)


def _rank(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise UnfitError("the number of a rank from 0 is needed")
    return value


def _channel(lines: TomlLines, name: str, table: Mapping[str, Any], transport: str, devices: list[str]) -> Channel:
    at = f"{_CHANNEL}.{name}"
    _known(lines, at, table, ("from", "to", "transport", "messages", "room"))
    ends = []
    for key in ("from", "to"):
        if key not in table:
            raise InputError(f"{lines.at(at)} is not connected: it has no {key}", f'give {key} = "DEVICE"')
        ends.append(_ends(lines, f"{at}.{key}", table[key], devices))
    return Channel(
        name,
        ends[0],
        ends[1],
        _transport(lines, f"{at}.transport", table.get("transport", transport)),
        _read(lines, f"{at}.messages", table.get("messages", 1024), _power_below(count, _MOST_MESSAGES, 2)),
        _read(lines, f"{at}.room", table.get("room", 64 << 20), _power_below(size, _MOST_ROOM, 64 << 10)),
        "transport" in table,
    )


def _power_below(read: Callable[[Any], int], most: int, least: int) -> Callable[[Any], int]:
    """The next power of two, which is what the transport's rings have."""

    def rounded(value: Any) -> int:
        found = read(value)
        if found > most:
            raise UnfitError(f"at most {most} is possible")
        return max(least, 1 << (found - 1).bit_length())

    return rounded


def _ends(lines: TomlLines, at: str, value: Any, devices: list[str]) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names:
        raise InputError(f"{lines.at(at)}: the channel is not connected", "name a device, or several in a list")
    for one in names:
        _read(lines, at, one, text)
        if one not in devices:
            raise InputError(
                f"{lines.at(at)}: there is no device {one!r}{meant(one, devices)}", f"devices are: {', '.join(devices)}"
            )
    if len(set(names)) < len(names):
        raise InputError(f"{lines.at(at)}: a device is named twice", "name each once")
    return tuple(names)
