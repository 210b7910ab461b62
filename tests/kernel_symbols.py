# SPDX-License-Identifier: BSD-3-Clause
"""libfabric's verbs provider reads the kernel's 200 000 symbols twice in each process, most of a start of it; here they are none.

It looks there for a driver's function by which adapters reach memory of GPUs; without them it takes itself to be where neither is.
By TCP its endpoints keep 4096 buffers of 16 KiB, and clear them, which is most of the rest; here they keep 128, more than come at once.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static FILE* opened(const char* by, const char* path, const char* how) {
    FILE* (*next)(const char*, const char*);
    *(void**)&next = dlsym(RTLD_NEXT, by);
    return next(strcmp(path, "/proc/kallsyms") == 0 ? "/dev/null" : path, how);
}
FILE* fopen(const char* path, const char* how) { return opened("fopen", path, how); }
FILE* fopen64(const char* path, const char* how) { return opened("fopen64", path, how); }
"""


@cache
def _without(folder: Path) -> str | None:
    """The library that hides them."""
    # what comes before a sanitizer's own would end the program
    if "NODEWISE_SANITIZED" in os.environ or "LD_PRELOAD" in os.environ or shutil.which("gcc") is None:
        return None
    folder.mkdir()
    (folder / "none.c").write_text(_SOURCE)
    library = folder / "none.so"
    compiler = ["gcc", "-O1", "-shared", "-fPIC", str(folder / "none.c"), "-o", str(library), "-ldl"]
    return str(library) if subprocess.run(compiler, check=False).returncode == 0 else None


@pytest.fixture(scope="module")
def no_kernel_symbols(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For all that a module's tests start."""
    with pytest.MonkeyPatch.context() as patch:
        if (library := _without(tmp_path_factory.getbasetemp() / "kernel-symbols")) is not None:
            patch.setenv("LD_PRELOAD", library)
        patch.setenv("FI_OFI_RXM_MSG_RX_SIZE", "128")
        yield
