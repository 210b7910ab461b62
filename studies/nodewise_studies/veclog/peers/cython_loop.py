# SPDX-License-Identifier: BSD-3-Clause
"""The loop in Cython, serial and by prange over OpenMP threads; compiled once, into the user's cache, not timed."""

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
from cython.parallel cimport prange
from libc.math cimport log

def product(const double[::1] a, const double[::1] b, double[::1] c, int threads):
    cdef Py_ssize_t i
    for i in RANGE:
        c[i] = log(a[i]) * log(b[i])
"""
RANGES = {
    "cython_serial": "range(a.shape[0])",
    "cython_prange": 'prange(a.shape[0], nogil=True, schedule="static", num_threads=threads)',
}


def contenders():
    """Both, with why they cannot run."""
    return dict.fromkeys(RANGES, missing())


def missing():
    """What is not there, or None."""
    if importlib.util.find_spec("Cython") is None:
        return "Cython is not installed: pip install cython"
    if shutil.which("cc") is None:
        return "there is no C compiler"
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return "Python.h is not there: apt-get install python3-dev"
    return None


def build(source_text):
    """The compiled module's path; its folder's name changes with all that it was made from."""
    import Cython

    made_from = f"{source_text} {Cython.__version__} {sys.version} {os.uname().machine}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "nodewise" / "cython" / hashlib.sha256(made_from.encode()).hexdigest()[:16]
    module = folder / "veclog_loop.so"
    if not module.exists():
        folder.mkdir(parents=True, exist_ok=True)
        source, made = folder / f"veclog_loop.{os.getpid()}.c", folder / f"veclog_loop.{os.getpid()}.so"
        (folder / "veclog_loop.pyx").write_text(source_text)
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
    spec = importlib.util.spec_from_file_location(
        "veclog_loop", build(SOURCE.replace("RANGE", RANGES[point["contender"]]))
    )
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
