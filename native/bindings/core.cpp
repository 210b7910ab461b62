// SPDX-License-Identifier: BSD-3-Clause
// The Python extension; the only native file that knows of Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "machine/topology.h"

namespace nb = nanobind;

NB_MODULE(_core, module) {
    nb::class_<nodewise::Object>(module, "Object")
        .def_ro("kind", &nodewise::Object::kind)
        .def_ro("logical", &nodewise::Object::logical)
        .def_ro("os_index", &nodewise::Object::os_index)
        .def_ro("size_bytes", &nodewise::Object::size_bytes)
        .def_ro("line_bytes", &nodewise::Object::line_bytes)
        .def_ro("cache_level", &nodewise::Object::cache_level)
        .def_ro("cache_content", &nodewise::Object::cache_content)
        .def_ro("pus", &nodewise::Object::pus)
        .def_ro("children", &nodewise::Object::children);
    nb::class_<nodewise::MemoryNode>(module, "MemoryNode")
        .def_ro("os_index", &nodewise::MemoryNode::os_index)
        .def_ro("size_bytes", &nodewise::MemoryNode::size_bytes)
        .def_ro("subtype", &nodewise::MemoryNode::subtype)
        .def_ro("pus", &nodewise::MemoryNode::pus);
    nb::class_<nodewise::Kind>(module, "Kind")
        .def_ro("efficiency", &nodewise::Kind::efficiency)
        .def_ro("pus", &nodewise::Kind::pus)
        .def_ro("infos", &nodewise::Kind::infos);
    nb::class_<nodewise::Topology>(module, "Topology")
        .def_ro("root", &nodewise::Topology::root)
        .def_ro("memory_nodes", &nodewise::Topology::memory_nodes)
        .def_ro("distances", &nodewise::Topology::distances)
        .def_ro("kinds", &nodewise::Topology::kinds)
        .def_ro("allowed", &nodewise::Topology::allowed)
        .def_ro("infos", &nodewise::Topology::infos)
        .def_ro("xml", &nodewise::Topology::xml);
    nb::enum_<nodewise::Source>(module, "Source")
        .value("live", nodewise::Source::live)
        .value("xml_file", nodewise::Source::xml_file)
        .value("synthetic", nodewise::Source::synthetic);
    module.def("load_topology", &nodewise::load_topology, nb::arg("source"), nb::arg("text") = "");
}
