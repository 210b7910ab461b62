# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages that a program is asked to have, by variables that its allocator reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodewise.base.errors import InputError

#: What huge pages a program is to have; `default` leaves it to the system.
HUGE_PAGES = ("default", "transparent", "reserved", "never")


def huge_page_environment(
    kind: str, inherited: Mapping[str, str], libraries: Sequence[str] = (), *, glibc: bool = True
) -> dict[str, str]:
    """Variables that have a program's allocator use huge pages, or not: glibc's, and those of the libraries that it has.

    Variables of glibc (2.35 on) and jemalloc are joined to what is inherited; mimalloc has its own. Without `glibc` its
    allocator is not in use. Raises InputError for another kind than those of `HUGE_PAGES`.
    """
    if kind not in HUGE_PAGES:
        raise InputError(f"no such huge pages: {kind!r}", f"known are: {', '.join(HUGE_PAGES)}")
    if kind == "default":
        return {}
    number = {"transparent": "1", "reserved": "2", "never": "0"}[kind]
    others = [t for t in inherited.get("GLIBC_TUNABLES", "").split(":") if t and "malloc.hugetlb" not in t]
    env = {"GLIBC_TUNABLES": ":".join([*others, f"glibc.malloc.hugetlb={number}"])} if glibc else {}
    if any("jemalloc" in name for name in libraries):
        kept = [
            t for t in inherited.get("MALLOC_CONF", "").split(",") if t and not t.startswith(("thp:", "metadata_thp:"))
        ]
        env["MALLOC_CONF"] = ",".join([*kept, "thp:never" if kind == "never" else "thp:always"])
    if any("mimalloc" in name for name in libraries):
        env["MIMALLOC_ALLOW_LARGE_OS_PAGES"] = "0" if kind == "never" else "1"
    return env
