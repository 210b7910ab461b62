// SPDX-License-Identifier: BSD-3-Clause
// The Python extension; the only native file that knows of Python.
#include <nanobind/nanobind.h>

#include "machine/topology.h"

NB_MODULE(_core, module) { module.def("hwloc_version", &nodewise::hwloc_version); }
