# SPDX-License-Identifier: BSD-3-Clause
"""The text of srun's --cpu-bind: what tasks are bound to, or which processors each gets (srun(1), Slurm 22.05)."""

from __future__ import annotations

import re

from nodewise.base.errors import InputError
from nodewise.base.late import late

#: What --cpu-bind has Slurm lay tasks out on, and what says for each task what it gets.
LAID_OUT = ("threads", "cores", "sockets", "ldoms")
LISTED = ("map_cpu", "mask_cpu", "map_ldom", "mask_ldom")
SAID = ("none", "rank", "rank_ldom", *LISTED)
_MOST = 1 << 16
#: Entries of map_… and of mask_…, as srun takes them: no sign, no blank, 0x in small letters and for masks only.
_NUMBER = late(r"([0-9]{1,9})(?:\*([0-9]{1,6}))?")
#: A comma with no number behind it stands before the next word of --cpu-bind, others are within lists.
_BEFORE_WORD = late(r",(?![0-9]|[0-9a-fA-F]*(?:,|$))")
#: Other spellings that slurm_verify_cpu_bind takes, of which core for cores is one.
_SPELLED = {
    "no": "none",
    **{name[:-1]: name for name in LAID_OUT},
    **{name.replace("_", ""): name for name in LISTED},
}
_MASK = late(r"(?:0x)?([0-9a-fA-F]{1,5000})(?:\*([0-9]{1,6}))?")


def read_cpu_bind(text: str | None) -> tuple[str, tuple[int, ...], bool]:
    """What --cpu-bind names, nothing where it leaves that open, the entries of its list, and whether it has one_thread.

    Of several words the last counts; what says of each task where it goes counts before what tasks are laid out on.
    """
    said, laid, one_thread = "", "", False
    entries: tuple[int, ...] = ()
    for word in [] if text is None else _BEFORE_WORD.split(text):
        name, parted, rest = [*re.split("([:=])", word), "", ""][:3]
        name = _SPELLED.get(name.lower(), name.lower())
        if name in ("quiet", "q", "verbose", "v"):
            continue
        if name == "one_thread":
            one_thread = True
            continue
        if name not in (*LAID_OUT, *SAID):
            raise InputError(f"srun: --cpu-bind has no {name!r}", f"known are: {', '.join((*SAID, *LAID_OUT))}")
        listed = name in LISTED
        if listed != bool(parted and rest):
            raise InputError(f"srun: --cpu-bind={name} " + ("needs a list" if listed else "takes no list"))
        if name in LAID_OUT:
            laid = name
        else:
            said, entries = name, _entries(name, rest) if listed else ()
    return said or laid, entries, one_thread


def _entries(bind: str, text: str) -> tuple[int, ...]:
    """The numbers or masks of a list; an entry `X*N` is N times X."""
    entries: list[int] = []
    masks = bind.startswith("mask")
    for part in filter(None, text.split(",")):
        match = (_MASK if masks else _NUMBER).fullmatch(part)
        count = int(match[2] or 1) if match else 0
        if match is None or count < 1 or len(entries) + count > _MOST:
            raise InputError(
                f"srun: --cpu-bind={bind}: {part!r} is no entry",
                f"write {'masks such as 0xff' if masks else 'decimal numbers'}, or X*N for N times X",
            )
        entries += [int(match[1], 16 if masks else 10)] * count
    if not entries:
        raise InputError(f"srun: --cpu-bind={bind}: {text!r} has no entry")
    return tuple(entries)
