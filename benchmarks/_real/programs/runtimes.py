# SPDX-License-Identifier: BSD-3-Clause
"""Programs of languages with a runtime of their own, and of C++, compiled here."""

from __future__ import annotations

from benchmarks._real.catalogue import INPUTS, Case, Room, find, handicapped, program, with_parameter

_JEMALLOC = "/usr/lib/*/libjemalloc.so.2"


@program("Go", {"go": "golang-go"})
def _go(room: Room) -> list[Case]:
    room.write("go.mod", "module work\n\ngo 1.19\n")
    room.write("work.go", (INPUTS / "work.go").read_text())
    cache = {"GOCACHE": str(room.folder / "cache"), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    room.do("go", "build", "-o", "work", "work.go", environment=cache)
    return [
        Case("trees", ("./work", "trees")),
        handicapped("trees, eager collector", ["./work", "trees"], "GOGC", "10"),
        handicapped("spectral norm, one processor", ["./work", "norm"], "GOMAXPROCS", "1"),
        Case("maps", ("./work", "maps")),
    ]


@program("Java", {"javac": "default-jdk-headless", "java": "default-jre-headless"})
def _java(room: Room) -> list[Case]:
    room.write("Work.java", (INPUTS / "Work.java").read_text())
    room.do("javac", "Work.java")
    return [
        Case("trees", ("java", "Work", "trees")),
        with_parameter(
            "trees, collector",
            ["java", "-XX:+Use{collector}GC", "Work", "trees"],
            "collector",
            ["Serial", "Parallel", "G1"],
        ),
        handicapped("strings, interpreted", ["java", "Work", "strings"], "JAVA_TOOL_OPTIONS", "-Xint"),
        with_parameter("trees, heap", ["java", "-Xmx{heap}m", "Work", "trees"], "heap", ["64", "256", "1024"], "1024"),
    ]


@program("Node", {"node": "nodejs"})
def _node(room: Room) -> list[Case]:
    room.write("work.js", (INPUTS / "work.js").read_text())
    return [
        Case("objects", ("node", "work.js", "objects")),
        with_parameter(
            "objects, young generation",
            ["node", "--max-semi-space-size={mib}", "work.js", "objects"],
            "mib",
            ["1", "16", "64"],
            "64",
        ),
        handicapped("keys, one thread", ["node", "work.js", "keys"], "UV_THREADPOOL_SIZE", "1"),
        Case("text", ("node", "work.js", "text")),
    ]


@program("C++", {"g++": "g++", _JEMALLOC: "libjemalloc2"})
def _cpp(room: Room) -> list[Case]:
    room.write("churn.cpp", (INPUTS / "churn.cpp").read_text())
    room.write("shadow.cpp", (INPUTS / "shadow.cpp").read_text())
    room.do("g++", "-O2", "-pthread", "churn.cpp", "-o", "churn")
    room.do("g++", "-O2", "-fopenmp", "shadow.cpp", "-o", "shadow")
    return [
        Case(
            "allocator-bound",
            ("./churn", "small"),
            ("--axes", "allocator"),
            known="most of the time goes into malloc",
            cure=f"LD_PRELOAD={find(_JEMALLOC)} ./churn small",
        ),
        handicapped("one arena", ["./churn", "small"], "MALLOC_ARENA_MAX", "1"),
        Case(
            "large blocks",
            ("./churn", "large"),
            known="each large block is mapped and unmapped",
            cure="GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296 ./churn large",
        ),
        handicapped("OpenMP, one thread", ["./shadow", "6000"], "OMP_NUM_THREADS", "1"),
        Case("OpenMP, schedule", ("./shadow", "6000"), ("--axes", "schedule,threads")),
        Case(
            "flags",
            ("./shadow", "6000"),
            ("--build", "g++ {flags} -fopenmp shadow.cpp -o shadow", "--axes", "flags"),
        ),
        Case("compiler", ("g++", "-O2", "-fsyntax-only", "shadow.cpp")),
    ]
