# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that are installed here, and a program for each: built without its headers, against the library itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

#: How each is found: its launchers, its library, the word by which `--version` tells it from the others, and the world's
#: communicator in its binary interface.
KINDS = {
    "openmpi": (("mpirun.openmpi", "mpirun"), "libmpi.so.40", "Open MPI", "extern char ompi_mpi_comm_world[];"),
    "mpich": (("mpiexec.mpich", "mpiexec.hydra"), "libmpich.so.12", "HYDRA", ""),
    "intelmpi": (("mpiexec.hydra",), "libmpi.so.12", "Intel(R) MPI", ""),
}
_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib")
#: Each rank says its number, how many there are and how long it took: a tenth more than the one before it.
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
@WORLD@
#ifdef OPEN
typedef void* Comm;
#define WORLD ((void*)ompi_mpi_comm_world)
#else
typedef int Comm;
#define WORLD 0x44000000
#endif
int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Comm_rank(Comm, int*);
int MPI_Comm_size(Comm, int*);
int main(int count, char** words) {
    int rank, size;
    const char* what = count > 1 ? words[1] : "";
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    printf("{\\"nodewise\\": 1, \\"seconds\\": %g, \\"flops\\": 100, \\"size\\": %d, \\"verified\\": true}\\n", 1 + rank * 0.1, size);
    fflush(stdout);
    if (!strcmp(what, "die") && rank == 1) {
        fprintf(stderr, "rank 1 is out of luck\\n");
        exit(3);
    }
    if (!strcmp(what, "hang") && rank == 1) sleep(1000);
    MPI_Finalize();
    return 0;
}
"""


@dataclass(frozen=True)
class Mpi:
    """One MPI: its launcher, a program of its own, and the variables that both need here."""

    kind: str
    launcher: str
    library: Path
    program: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, ranks: int, *arguments: str) -> tuple[str, ...]:
        """The words that start the program."""
        return (self.launcher, "-n", str(ranks), str(self.program), *arguments)


def _library(name: str) -> Path | None:
    folders = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    root = os.environ.get("I_MPI_ROOT")
    return next(
        (p for f in [*folders, *([f"{root}/lib"] if root else []), *_FOLDERS] if (p := Path(f, name)).is_file()), None
    )


def _launcher(names: tuple[str, ...], word: str) -> str | None:
    root = os.environ.get("I_MPI_ROOT")
    for name in [n for n in names for n in (*([f"{root}/bin/{n}"] if root else []), n)]:
        found = shutil.which(name)
        if found is None:
            continue
        printed = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
        if word in printed.stdout:
            return found
    return None


def find(kind: str, folder: Path) -> Mpi:
    """One of the MPIs with its program built into a folder; the test is skipped where it is not here."""
    names, soname, word, world = KINDS[kind]
    library, launcher = _library(soname), _launcher(names, word)
    if library is None or launcher is None or shutil.which("gcc") is None:
        pytest.skip(f"{kind} is not here: its launcher ({' or '.join(names)}), {soname} and gcc are needed")
    source = folder / "ranks.c"
    source.write_text(SOURCE.replace("@WORLD@", world))
    flags = ["-DOPEN"] if world else []
    links = [f"-Wl,-rpath,{library.parent}", f"-Wl,-rpath-link,{library.parent}"]
    program = folder / f"ranks.{kind}"
    subprocess.run(["gcc", *flags, str(source), "-o", str(program), str(library), *links], check=True)
    # the user who runs tests in a container is root, and there may be fewer processors than ranks
    own = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    return Mpi(kind, launcher, library, program, own if kind == "openmpi" else {})
