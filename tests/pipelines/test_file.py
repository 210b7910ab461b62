# SPDX-License-Identifier: BSD-3-Clause
"""The file of a pipeline: what it means, and that all that cannot be is refused with file, line and key."""

from pathlib import Path

import pytest

from nodewise.api.pipeline import prepare_pipeline
from nodewise.base.errors import InputError
from tests.pipelines.files import WHOLE, simple, written

GENERATOR = 'kind = "generator"'


def test_what_a_file_means(tmp_path: Path) -> None:
    plan = prepare_pipeline(written(tmp_path, "[pipeline]\nduration = '2s'\ntransport = 'ipc'\n" + WHOLE))
    assert [d.name for d in plan.devices] == ["source", "sum", "pack", "all", "verify", "out"]
    assert plan.duration == 2.0
    assert {c.transport for c in plan.channels} == {"ipc"}
    assert plan.device("source").settings == {"size": 200_000, "count": 21, "duration": None, "rate": None}
    assert plan.instances_of(("pack",)) == [("pack", 0), ("pack", 1)]


def test_what_a_channel_holds_is_a_power_of_two(tmp_path: Path) -> None:
    plan = prepare_pipeline(written(tmp_path, simple(GENERATOR, more='room = "3MB"\nmessages = 5')))
    assert (plan.channels[0].room, plan.channels[0].messages) == (4 << 20, 8)


_KEYS = {
    "pipeline": ("transport", "duration", "messages", "room"),
    "device": (
        "kind",
        "instances",
        "place",
        "size",
        "count",
        "rate",
        "codec",
        "level",
        "algorithm",
        "run",
        "call",
        "path",
        "order",
    ),
    "channel": ("from", "to", "messages", "room", "transport"),
}


@pytest.mark.parametrize(
    "value", ["[]", "{}", "[[1]]", "{a = []}", "true", "-1", "1e999", "nan", "2026-01-01", '""', '"\\u0000"']
)
@pytest.mark.parametrize("kind", ["generator", "checksum", "compress", "merge", "command", "python", "file"])
def test_a_value_of_any_type_is_read_or_refused(tmp_path: Path, kind: str, value: str) -> None:
    for table, keys in _KEYS.items():
        for key in keys:
            whole = "[pipeline]\n{pipeline}\n[device.a]\nkind = '" + kind + "'\n{device}\n[channel.x]\n{channel}\n"
            lines = {name: f"{key} = {value}" if name == table else "" for name in _KEYS}
            text = whole.format(**lines)
            if table == "device" and key == "kind":
                text = text.replace(f"kind = '{kind}'\n", "")
            with pytest.raises(InputError, match=r"p\.toml"):
                # there is never a whole pipeline
                prepare_pipeline(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "p.toml names no device"),
        (f"[device.a]\n{GENERATOR}\n", "p.toml names no channel"),
        ("[devise.a]\n", "p.toml:1: devise: there is no such key; did you mean device?"),
        ("[pipeline]\ntransprot = 'shm'\n", "p.toml:2: pipeline.transprot: there is no such key; did you mean transport?"),
        ("[pipeline]\ntransport = 'shn'\n", "p.toml:2: pipeline.transport: 'shn' is no transport; did you mean shm?"),
        ("[pipeline]\nduration = 'soon'\n", "p.toml:2: pipeline.duration: not a duration: 'soon'"),
        ("[device.a]\nsize = 3\n", "p.toml:1: device.a does not say what it is"),
        ("[device.'a b']\nkind = 'merge'\n", "p.toml:1: device.a b: a name has letters"),
        ("[device.a]\nkind = 'generater'\n", "p.toml:2: device.a.kind: 'generater' is no kind of device; did you mean generator"),
        (simple(GENERATOR + "\nsizes = 3"), "p.toml:3: device.source.sizes: there is no such key; did you mean size?"),
        (simple(GENERATOR + "\nsize = '24 apples'"), "p.toml:3: device.source.size: a size above zero is needed, such as"),
        (simple(GENERATOR + "\nsize = '3GB'"), "p.toml:3: device.source.size: a message has less than 2 GiB"),
        (simple(GENERATOR + "\ncount = 0"), "p.toml:3: device.source.count: a whole number from 1 is needed, not 0"),
        (simple(GENERATOR + "\nrate = -1"), "p.toml:3: device.source.rate: a number of messages per second"),
        (simple(GENERATOR + "\ninstances = 5000"), "p.toml:3: device.source.instances: more than 4096"),
        (simple(GENERATOR, "kind = 'compress'\ncodec = 'rar'"), "p.toml:7: device.middle.codec: one of gzip, bz2, xz"),
        (simple(GENERATOR, "kind = 'compress'\nlevel = 12"), "p.toml:7: device.middle.level: a level from 1"),
        (simple(GENERATOR, "kind = 'checksum'\nalgorithm = 'sum'"), "p.toml:7: device.middle.algorithm: one of crc32"),
        (simple(GENERATOR, "kind = 'command'"), "p.toml:5: device.middle has no run"),
        (simple(GENERATOR, "kind = 'command'\nrun = 'no-such-tool x'"), "p.toml:7: device.middle.run: there is no prog"),
        (simple(GENERATOR, "kind = 'python'\ncall = 'f'"), "p.toml:7: device.middle.call: a function is needed"),
        (simple(GENERATOR, sink="kind = 'file'"), "p.toml:3: device.out has no path"),
        (simple(GENERATOR, sink="kind = 'file'\npath = 'no/x'"), "p.toml:5: device.out.path: cannot write"),
        (simple(GENERATOR, sink="kind = 'file'\npath = 'p.toml'"), "p.toml:5: device.out.path: "),
        (simple(GENERATOR, sink="kind = 'file'\npath = 'x'\ninstances = 2"), "p.toml:5: device.out.path: 2 instances"),
        (simple(GENERATOR + "\nplace = '90000'"), "p.toml:3: device.source.place: processor 90000 is none that may"),
        (simple(GENERATOR + "\nplace = 'everywhere'"), "p.toml:3: device.source.place: unknown placement"),
        (simple(GENERATOR + "\nplace = ['0', '0']"), "p.toml:3: device.source.place: one text is needed for each"),
        (simple(GENERATOR + "\nplace = {pleces = 'cores'}"), "p.toml:3: device.source.place: no dialect is called"),
        ("[pipeline]\nplace = 'everywhere'\n" + simple(GENERATOR), "p.toml:2: pipeline.place: unknown placement"),
        (simple(GENERATOR, more="room = 'a lot'"), "p.toml:8: channel.raw.room: a size above zero is"),
        (simple(GENERATOR, more="messages = 0"), "p.toml:8: channel.raw.messages: a whole number from 1"),
        (simple(GENERATOR) + "[channel.b]\nfrom = 'source'\n", "p.toml:9: channel.b is not connected: it has no to"),
        (simple(GENERATOR) + "[channel.b]\nfrom = []\nto = 'out'\n", "p.toml:10: channel.b.from: the channel is not"),
        (simple(GENERATOR) + "[channel.b]\nfrom = 'source'\nto = 'oud'\n", "p.toml:11: channel.b.to: there is no device"),
        (simple(GENERATOR) + "[device.lost]\nkind = 'merge'\n", "p.toml:9: device.lost is not connected: no channel lea"),
        (simple(GENERATOR) + "[channel.b]\nfrom = 'out'\nto = 'out'\n", "p.toml:10: channel.b.from: out is a discard"),
        (simple(GENERATOR, "kind = 'merge'") + "[channel.b]\nfrom = 'middle'\nto = 'middle'\n", "middle → middle"),
        ("[device\n", "is not valid TOML"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_line_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        prepare_pipeline(written(tmp_path, text))
    assert said in caught.value.what


def test_a_circle_is_shown(tmp_path: Path) -> None:
    text = simple(GENERATOR, "kind = 'merge'") + (
        "[device.second]\nkind = 'merge'\n[channel.there]\nfrom = 'middle'\nto = 'second'\n"
        "[channel.back]\nfrom = 'second'\nto = 'middle'\n"
    )
    with pytest.raises(InputError, match=r"p.toml:\d+: channel.\w+.to: messages would go in a circle: \w+ → \w+ → \w+"):
        prepare_pipeline(written(tmp_path, text))


def test_instances_get_their_places(tmp_path: Path) -> None:
    plan = prepare_pipeline(written(tmp_path, simple(GENERATOR + "\ninstances = 2\nplace = ['0', '0']")))
    assert plan.device("source").cpus == ((0,), (0,))
    assert plan.device("out").cpus == (None,)
    together = prepare_pipeline(written(tmp_path, "[pipeline]\nplace = 'compact'\n" + simple(GENERATOR)))
    assert all(cpus is not None and len(cpus) == 1 for d in together.devices for cpus in d.cpus)
    told = prepare_pipeline(written(tmp_path, simple(GENERATOR + "\nplace = {places = '{0}'}")))
    assert told.device("source").cpus == ((0,),)


@pytest.mark.parametrize(
    ("more", "to", "said"),
    [
        ("instances = 2\n", "'all'", r"device\.all\.instances: of several instances none sees all messages"),
        (
            "",
            "['all', 'away']",
            r"channel\.a\.to: each message goes to one of all, away, and from away fewer ways lead to all",
        ),
    ],
)
def test_an_order_that_cannot_be_kept_is_refused(tmp_path: Path, more: str, to: str, said: str) -> None:
    text = (
        "[device.source]\nkind = 'generator'\n[device.all]\nkind = 'merge'\norder = 'sequence'\n"
        f"{more}[device.out]\nkind = 'discard'\n[device.away]\nkind = 'checksum'\n"
        f"[channel.a]\nfrom = 'source'\nto = {to}\n[channel.b]\nfrom = ['all', 'away']\nto = 'out'\n"
    )
    if "away" not in to:
        text = text.replace("[device.away]\nkind = 'checksum'\n", "").replace(
            "['all', 'away']\nto = 'out'", "'all'\nto = 'out'"
        )
    with pytest.raises(InputError, match=rf"p.toml:\d+: {said}"):
        prepare_pipeline(written(tmp_path, text))
    prepare_pipeline(written(tmp_path, text.replace("'sequence'", "'arrival'")))
