# SPDX-License-Identifier: BSD-3-Clause
"""Mounted file systems, without where they come from: their sources hold addresses and names."""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import replace
from pathlib import Path

from nodewise.nodes.reading.reader import LONGEST, Reader
from nodewise.nodes.snapshot import Mount

#: Made by the kernel, with nothing of a node's in them.
_PSEUDO = frozenset(
    [
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "devpts",
        "devtmpfs",
        "mqueue",
        "debugfs",
        "tracefs",
        "securityfs",
        "pstore",
        "efivarfs",
        "bpf",
        "configfs",
        "fusectl",
        "hugetlbfs",
        "binfmt_misc",
        "rpc_pipefs",
        "autofs",
        "nsfs",
        "selinuxfs",
        "ramfs",
        "fuse.gvfsd-fuse",
        "fuse.portal",
        "squashfs",
        "iso9660",
        "nfsd",
        "fuse.lxcfs",
    ]
)
#: Options that say how it is used and not by whom or from where.
_OPTIONS = frozenset(
    [
        "rw",
        "ro",
        "sync",
        "async",
        "noatime",
        "relatime",
        "nodiratime",
        "strictatime",
        "lazytime",
        "nodev",
        "nosuid",
        "noexec",
        "hard",
        "soft",
        "intr",
        "flock",
        "localflock",
        "noflock",
        "lazystatfs",
        "vers",
        "nfsvers",
        "rsize",
        "wsize",
        "proto",
        "timeo",
        "retrans",
        "nconnect",
        "sec",
        "local_lock",
        "acregmin",
        "acregmax",
        "acdirmin",
        "acdirmax",
        "actimeo",
        "noac",
        "lookupcache",
        "data",
        "discard",
        "nobarrier",
        "barrier",
        "commit",
        "errors",
        "stripe",
        "inode64",
        "inode32",
        "logbufs",
        "logbsize",
        "noquota",
        "usrquota",
        "grpquota",
        "prjquota",
        "compress",
        "compress-force",
        "space_cache",
        "ssd",
        "size",
        "nr_inodes",
        "mode",
        "huge",
        "mpol",
        "xattr",
        "noxattr",
        "user_xattr",
        "acl",
        "noacl",
        "checksum",
        "nochecksum",
        "encrypt",
    ]
)
_OF_MEMORY = ("size", "nr_inodes")
#: Below these folders the next name is a user's.
_OF_USERS = re.compile(
    r"^((?:/[^/]+){0,2}?/(?:homes?\d*|[Uu]sers\d*)|/u|/root|/run/user|/media|/run/media|/var/lib/containers/storage/[^/]+"
    r"|/var/lib/(?:docker|containers|containerd|kubelet)/[^/]+|/run/containerd/[^/]+/[^/]+)/[^/]+"
)
#: A server, and whatever it is asked for.
_OF_SERVERS = re.compile(r"^/net/.+")
#: Names that are addresses, of this protocol's fourth and sixth version, or somebody's at a host.
_ADDRESS = re.compile(
    r"(?<=/)(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}|[^/]*@[^/]*)(?=/|$)"
)
_MOST = 64
#: How long a file system may take to answer; a dead server's never does.
_PATIENCE_S = 0.5


#: By which options a mount says for whom it is.
_FOR = re.compile(r"(?:^|,)user(?:name)?=([\w.-]{2,60})")


def shown_place(place: str, options: str = "") -> str:
    """Where it is mounted, with the names of users as `*`: those below their folders, and whom its options name."""
    # the kernel writes blanks as \040
    plain = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), place)
    for user in _FOR.findall(options):
        plain = re.sub(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])", "*", plain)
    return _ADDRESS.sub("*", _OF_SERVERS.sub("/net/*", _OF_USERS.sub(r"\1/*", plain)))[:LONGEST]


def shown_options(text: str, kind: str = "") -> tuple[str, ...]:
    """The options that can be compared, sorted; of file systems in memory without sizes, which follow from how much memory there is."""
    own = _OF_MEMORY if kind in ("tmpfs", "ramfs", "devtmpfs") else ()
    kept = [o for o in text.split(",") if (name := o.partition("=")[0]) in _OPTIONS and name not in own]
    return tuple(sorted({o for o in kept if re.fullmatch(r"[\w.:=%-]{1,60}", o)}))


def read_mounts(r: Reader) -> dict[str, Mount] | None:
    """What is mounted, by place; each is asked for its size where this is the running system, all at the same time."""
    text, reason = r.raw("proc/self/mounts")
    if text is None:
        r.lack("mounts", reason)
        return None
    entries: dict[str, list[str]] = {}
    automounted: set[str] = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 4 and words[2] == "autofs":
            automounted.add(words[1])
        # bound single files, such as those of a container, are no file systems of their own
        if (
            len(words) >= 4
            and words[2] not in _PSEUDO
            and words[1] not in ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
        ):
            entries[words[1]] = words
    passing = {p for p in entries if any(p == a or p.startswith(f"{a}/") for a in automounted)}

    def where(place: str) -> str:
        return shown_place(place, entries[place][3])

    # those that are compared first, and one of those that are shown alike
    ordered = sorted(entries, key=lambda p: (p in passing, where(p) != re.sub(r"\\040", " ", p)))
    places = {where(p): p for p in reversed(ordered)}
    kept = set([p for p in ordered if places[where(p)] == p][:_MOST])
    if len(kept) < len(places):
        r.lack("mounts.*", f"{_MOST} of {len(places)} are kept")
    chosen = {p: words for p, words in entries.items() if p in kept}
    sizes = _sizes(list(chosen)) if r.live else {}
    found = {}
    for place, words in chosen.items():
        shown = where(place)
        size = sizes.get(place)
        made = Mount(
            words[2][:40], shown_options(words[3], words[2]), None if not r.live else size is not None, None, None, None
        )
        if size is not None:
            made = Mount(made.type, made.options, True, *size)
        made = replace(made, passing=place in passing)
        for fact in ("answers", "bytes", "free", "free_inodes"):
            if getattr(made, fact) is None:
                why = "only the running system knows" if not r.live else f"no answer within {_PATIENCE_S:g} s"
                r.lack(f"mounts.{shown}.{fact}", why if size is None else "it has no such count")
        found[shown] = made
    return found


def _sizes(places: list[str]) -> dict[str, tuple[int, float | None, float | None]]:
    """Size and free shares of those that answer in time."""
    found: dict[str, tuple[int, float | None, float | None]] = {}

    def ask(place: str) -> None:
        real = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), place)
        try:
            s = os.statvfs(Path(real))
        except OSError:
            return
        free = s.f_bavail / s.f_blocks if s.f_blocks else None
        found[place] = (s.f_blocks * s.f_frsize, free, s.f_favail / s.f_files if s.f_files else None)

    threads = [threading.Thread(target=ask, args=(p,), daemon=True) for p in places]
    end = time.monotonic() + _PATIENCE_S
    for one in threads:
        one.start()
    for one in threads:
        one.join(max(0.0, end - time.monotonic()))
    return dict(found)
