# SPDX-License-Identifier: BSD-3-Clause
import os

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Nodewise(PythonPackage):
    """Finds the fastest way to run a program on a machine, and proves it: threads, placement, memory and
    library knobs, measured in interleaved runs, with intervals."""

    # the archive is made of a checkout: git archive --prefix=nodewise-0.1.0/ -o nodewise-0.1.0.tar.gz HEAD
    manual_download = True
    url = f"file://{os.getcwd()}/nodewise-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0")

    variant("figures", default=False, description="Figures as PNG, SVG and PDF files")
    variant("postgres", default=False, description="History on a PostgreSQL server")
    variant("uring", default=True, description="io_uring in the studies of storage")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("py-vl-convert-python@1.6:", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("hwloc@2.4:")
    depends_on("highway@1.0.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("liburing@2.2:", when="+uring")

    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-markdown-it-py@3.0:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-vl-convert-python@1.6:", type="run", when="+figures")
    depends_on("py-psycopg@3.1:", type="run", when="+postgres")
