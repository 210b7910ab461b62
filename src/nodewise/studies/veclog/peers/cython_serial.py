# SPDX-License-Identifier: BSD-3-Clause
"""The loop in Cython, one thread; translated and compiled once, into the user's cache, not timed."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np

SOURCE = """# cython: boundscheck=False, wraparound=False, language_level=3
from libc.math cimport log

def product(const double[::1] a, const double[::1] b, double[::1] c, int threads):
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        c[i] = log(a[i]) * log(b[i])
"""


def available():
    """Say why it cannot run."""
    if importlib.util.find_spec("Cython") is None:
        return "Cython is not installed: pip install 'nodewise[peers]'"
    if shutil.which("cc") is None:
        return "there is no C compiler"
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return "Python.h is not there: apt-get install python3-dev"
    return None


def build():
    """The compiled module's path; its folder's name changes with all that it was made from."""
    import Cython

    made_from = f"{SOURCE} {Cython.__version__} {sys.version} {os.uname().machine}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "nodewise" / "cython" / hashlib.sha256(made_from.encode()).hexdigest()[:16]
    module = folder / "veclog_loop.so"
    if not module.exists():
        folder.mkdir(parents=True, exist_ok=True)
        source, made = folder / f"veclog_loop.{os.getpid()}.c", folder / f"veclog_loop.{os.getpid()}.so"
        (folder / "veclog_loop.pyx").write_text(SOURCE)
        translate = [sys.executable, "-m", "cython", "-3", "--module-name", "veclog_loop", "-o", str(source)]
        subprocess.run([*translate, "veclog_loop.pyx"], cwd=folder, check=True)
        include = sysconfig.get_paths()["include"]
        compile_it = ["cc", "-O3", "-fPIC", "-shared", "-fopenmp", "-w", f"-I{include}"]
        subprocess.run([*compile_it, "-o", str(made), str(source), "-lm"], check=True)
        made.replace(module)
        source.unlink()
    return module


def prepare(inputs, point, threads):
    """The module, compiled if it is not, and an array for the result."""
    spec = importlib.util.spec_from_file_location("veclog_loop", build())
    loop = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loop)
    c = np.zeros(inputs["a"].size)
    return {"a": inputs["a"], "b": inputs["b"], "c": c, "threads": threads, "product": loop.product}


def run(state):
    """c = log(a) log(b)."""
    state["product"](state["a"], state["b"], state["c"], state["threads"])


def outputs(state):
    """By the study's name."""
    return {"c": state["c"]}
