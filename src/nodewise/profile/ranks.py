# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks of an MPI program are recorded, and the text by which a rank decides that for itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from nodewise.base.frozen import dataclass

#: The variables by which a rank knows its number, of PMIx, Open MPI, Hydra and MPICH, Slurm and ALPS.
NUMBERS = ("PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "ALPS_APP_PE")
#: So many ranks may be written out: they have to fit into one word of a command.
_MOST = 10_000


@dataclass(frozen=True)
class Ranks:
    """The ranks that are recorded: those `named`, or every `step`th from 0 on; all where neither is given."""

    named: tuple[int, ...] = ()
    step: int = 1

    @property
    def all(self) -> bool:
        """Whether no rank is left out."""
        return not self.named and self.step == 1

    def __contains__(self, rank: int) -> bool:
        return rank in self.named if self.named else rank % self.step == 0

    def parts(self, count: int) -> list[tuple[int, int, bool]]:
        """The ranks 0 … `count` − 1 as stretches: the first, the last, and whether these are recorded."""
        found: list[tuple[int, int, bool]] = []
        for rank in range(count):
            chosen = rank in self
            if found and found[-1][2] == chosen:
                found[-1] = (found[-1][0], rank, chosen)
            else:
                found.append((rank, rank, chosen))
        return found

    def outside(self, count: int) -> list[int]:
        """Those that are named and are none of `count` ranks."""
        return [rank for rank in self.named if rank >= count]

    def shell_test(self) -> str:
        """What a shell asks of the rank in `$r` that is not recorded; it ends the line there, and is empty where all are."""
        if self.all:
            return ""
        if self.named:
            return f'case ,{",".join(map(str, self.named))}, in *,$r,*) ;; *) exec "$@";; esac; '
        return f'[ $((r % {self.step})) -eq 0 ] || exec "$@"; '


def read_ranks(text: str) -> Ranks:
    """`0-2,7`, or `every:64` for 0, 64, 128 …; empty: all. Raises ValueError for what is neither."""
    if not text:
        return Ranks()
    if match := re.fullmatch(r"every:(\d{1,7})", text):
        step = int(match[1])
        if step < 1:
            raise ValueError(text)
        return Ranks(step=step)
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", part)
        if match is None:
            raise ValueError(part)
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= _MOST:
            raise ValueError(part)
        found += range(first, last + 1)
        if len(found) > _MOST:
            raise ValueError(part)
    return Ranks(tuple(dict.fromkeys(found)))


#: How launchers are told where ranks run: Open MPI's and Hydra's options, and srun's.
_FOLDERS = ("-wdir", "--wdir", "-wd", "--wd", "--chdir", "-D")


def folder_of_ranks(launcher: Sequence[str]) -> Path | None:
    """The folder in which a launcher's words say that ranks run; None where they run where it does."""
    found = None
    for word, following in zip(launcher, (*launcher[1:], ""), strict=False):
        name, equals, value = word.partition("=")
        if name in _FOLDERS and (value if equals else following):
            found = Path(value if equals else following)
    return found


def number_text() -> str:
    """What gives `$r` the number of the rank that a shell is started as; 0 outside of ranks."""
    inner = "0"
    for name in reversed(NUMBERS):
        inner = f"${{{name}:-{inner}}}"
    return f"r={inner}"


def rank_words(record: Sequence[str], into: str, ranks: Ranks, command: Sequence[str]) -> list[str]:
    """A command for each rank: those chosen are recorded by the words `record`, in which `into` is the file; the others only run.

    Each node has a folder of its own beside the file, as nodes may write under one name otherwise, and each rank a file in it, `.NUMBER` after its name.
    """
    folder, _, name = into.rpartition("/")
    own = f'{shlex.quote(folder or ".")}/"$n/"{shlex.quote(name)}."$r"'
    line = " ".join(own if word == into else shlex.quote(word) for word in record)
    script = f'{number_text()}; {ranks.shell_test()}n=$(uname -n); mkdir -p {shlex.quote(folder or ".")}/"$n"; exec {line} "$@"'
    return ["sh", "-c", script, "sh", *command]
