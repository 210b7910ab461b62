// SPDX-License-Identifier: BSD-3-Clause
// The Python extension; the only native code that knows of Python is in this folder.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "machine/topology.h"

namespace nb = nanobind;

namespace {

void bind_values(nb::module_& module) {
    using nodewise::Cache;
    using nodewise::CoreKind;
    using nodewise::Device;
    using nodewise::NumaNode;
    using nodewise::Object;
    nb::class_<Object>(module, "Object")
        .def_ro("kind", &Object::kind)
        .def_ro("logical", &Object::logical)
        .def_ro("os_index", &Object::os_index)
        .def_ro("size_bytes", &Object::size_bytes)
        .def_ro("pus", &Object::pus)
        .def_ro("children", &Object::children);
    nb::class_<Cache>(module, "Cache")
        .def_ro("level", &Cache::level)
        .def_ro("content", &Cache::content)
        .def_ro("size_bytes", &Cache::size_bytes)
        .def_ro("line_bytes", &Cache::line_bytes)
        .def_ro("pus", &Cache::pus);
    nb::class_<NumaNode>(module, "NumaNode")
        .def_ro("os_index", &NumaNode::os_index)
        .def_ro("size_bytes", &NumaNode::size_bytes)
        .def_ro("subtype", &NumaNode::subtype)
        .def_ro("bandwidth_mib_s", &NumaNode::bandwidth_mib_s)
        .def_ro("latency_ns", &NumaNode::latency_ns)
        .def_ro("pus", &NumaNode::pus);
    nb::class_<CoreKind>(module, "CoreKind")
        .def_ro("efficiency", &CoreKind::efficiency)
        .def_ro("pus", &CoreKind::pus)
        .def_ro("infos", &CoreKind::infos);
    nb::class_<Device>(module, "Device")
        .def_ro("name", &Device::name)
        .def_ro("kind", &Device::kind)
        .def_ro("bus", &Device::bus)
        .def_ro("model", &Device::model)
        .def_ro("pus", &Device::pus);
}

void bind_topology(nb::module_& module) {
    using nodewise::Description;
    using nodewise::Topology;
    nb::class_<Description>(module, "Description")
        .def_ro("tree", &Description::tree)
        .def_ro("caches", &Description::caches)
        .def_ro("numa_nodes", &Description::numa_nodes)
        .def_ro("distances", &Description::distances)
        .def_ro("devices", &Description::devices)
        .def_ro("kinds", &Description::kinds)
        .def_ro("infos", &Description::infos)
        .def_ro("allowed", &Description::allowed);
    nb::class_<Topology>(module, "Topology")
        .def_static("live", &Topology::live, nb::arg("devices") = true)
        .def_static("from_xml", &Topology::from_xml, nb::arg("path"))
        .def_static("from_synthetic", &Topology::from_synthetic, nb::arg("text"))
        .def("describe", &Topology::describe)
        .def("xml", &Topology::xml);
}

}  // namespace

NB_MODULE(_core, module) {
    module.def("hwloc_version", &nodewise::hwloc_version);
    nb::exception<nodewise::TopologyError>(module, "TopologyError");
    bind_values(module);
    bind_topology(module);
}
