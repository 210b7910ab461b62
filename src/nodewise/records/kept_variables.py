# SPDX-License-Identifier: BSD-3-Clause
"""Which variables of the environment can change a run, and are kept with it."""

from __future__ import annotations

#: Beginnings of the names of variables that can change a run: of what is loaded, of OpenMP, MPI and BLAS, of allocators, of
#: languages' runtimes and of libraries with threads of their own. The catalogue of knobs has no others.
KEPT_VARIABLES = (
    *(
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_BIND_NOW",
        "GLIBC_TUNABLES",
        "MALLOC_",
        "MIMALLOC_",
        "TCMALLOC_",
        "_RJEM_",
        "JE_",
    ),
    *("OMP_", "KMP_", "GOMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "ONEDNN_", "DNNL_", "VECLIB_", "FLEXIBLAS"),
    *("OMPI_MCA_", "PRTE_MCA_", "UCX_", "FI_", "MPICH_", "MPIR_CVAR_", "I_MPI_"),
    *("GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "JAVA_", "JDK_", "_JAVA_", "NODE_OPTIONS", "UV_THREADPOOL_SIZE"),
    *("OCAMLRUNPARAM", "CAMLRUNPARAM", "RUBYOPT", "RUBY_"),
    *(
        "PYTHONMALLOC",
        "PYTHON_GIL",
        "PYTHON_JIT",
        "NUMPY_",
        "NPY_",
        "NUMBA_",
        "NUMEXPR_",
        "LOKY_",
        "POLARS_",
        "RAYON_",
        "TBB_",
        "DUCKDB_",
        "ARROW_",
        "TF_NUM_",
        "TORCH_",
    ),
    *("ATEN_", "THP_", "JULIA_"),
)
