// SPDX-License-Identifier: BSD-3-Clause
#include "machine/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace nodewise {
namespace {

[[noreturn]] void fail(int error) { throw TopologyError(std::generic_category().message(error)); }

void check(int result) {
    if (result != 0) {
        fail(errno != 0 ? errno : EINVAL);
    }
}

int index_or_none(unsigned index) { return index == HWLOC_UNKNOWN_INDEX ? -1 : static_cast<int>(index); }

// In the order of their bits; the tree gives its own order.
Processors in_set(hwloc_const_bitmap_t set) {
    Processors found;
    if (set == nullptr || hwloc_bitmap_weight(set) < 0) {
        return found;
    }
    for (int p = hwloc_bitmap_first(set); p != -1; p = hwloc_bitmap_next(set, p)) {
        found.push_back(p);
    }
    return found;
}

Infos infos_of(const hwloc_info_s* list, unsigned count) {
    Infos found;
    for (unsigned i = 0; i < count; ++i) {
        found.emplace(list[i].name, list[i].value);
    }
    return found;
}

std::string kind_of(hwloc_obj_t object) {
    std::string name = hwloc_obj_type_string(object->type);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
}

void gather(hwloc_obj_t object, Object& parent);

Object object_of(hwloc_obj_t source) {
    Object object;
    object.kind = kind_of(source);
    object.logical = static_cast<int>(source->logical_index);
    object.os_index = index_or_none(source->os_index);
    if (hwloc_obj_type_is_cache(source->type) != 0) {
        object.size_bytes = source->attr->cache.size;
    }
    if (source->type == HWLOC_OBJ_PU) {
        object.pus.push_back(object.os_index);
    }
    for (hwloc_obj_t child = source->first_child; child != nullptr; child = child->next_sibling) {
        gather(child, object);
    }
    return object;
}

// Appends `object`, or what is below it where it is an instruction cache, to the children of `parent`.
void gather(hwloc_obj_t object, Object& parent) {
    if (hwloc_obj_type_is_icache(object->type) != 0) {
        for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling) {
            gather(child, parent);
        }
        return;
    }
    Object child = object_of(object);
    parent.pus.insert(parent.pus.end(), child.pus.begin(), child.pus.end());
    parent.children.push_back(std::move(child));
}

std::vector<Cache> caches_of(hwloc_topology_t topology) {
    std::vector<Cache> caches;
    for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; ++type) {
        hwloc_obj_t object = nullptr;
        while ((object = hwloc_get_next_obj_by_type(topology, static_cast<hwloc_obj_type_t>(type), object)) !=
               nullptr) {
            const auto& attributes = object->attr->cache;
            Cache cache;
            cache.level = static_cast<int>(attributes.depth);
            cache.content = attributes.type == HWLOC_OBJ_CACHE_UNIFIED ? "unified"
                            : attributes.type == HWLOC_OBJ_CACHE_DATA  ? "data"
                                                                       : "instruction";
            cache.size_bytes = attributes.size;
            cache.line_bytes = static_cast<int>(attributes.linesize);
            cache.pus = in_set(object->cpuset);
            caches.push_back(std::move(cache));
        }
    }
    return caches;
}

// What a NUMA node gives to whoever is nearest to it; 0 where it is not known.
std::uint64_t attribute_of(hwloc_topology_t topology, hwloc_memattr_id_t attribute, hwloc_obj_t node) {
    hwloc_location initiator{};
    hwloc_uint64_t value = 0;
    return hwloc_memattr_get_best_initiator(topology, attribute, node, 0, &initiator, &value) == 0 ? value : 0;
}

std::vector<NumaNode> numa_nodes_of(hwloc_topology_t topology) {
    std::vector<NumaNode> nodes;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != nullptr) {
        NumaNode node;
        node.os_index = index_or_none(object->os_index);
        node.size_bytes = object->attr->numanode.local_memory;
        node.subtype = object->subtype != nullptr ? object->subtype : "";
        node.bandwidth_mib_s = attribute_of(topology, HWLOC_MEMATTR_ID_BANDWIDTH, object);
        node.latency_ns = attribute_of(topology, HWLOC_MEMATTR_ID_LATENCY, object);
        node.pus = in_set(object->cpuset);
        nodes.push_back(std::move(node));
    }
    return nodes;
}

// The first matrix of latencies over all NUMA nodes; empty where the system gives none.
std::vector<std::vector<std::uint64_t>> distances_of(hwloc_topology_t topology) {
    std::vector<std::vector<std::uint64_t>> rows;
    unsigned count = 1;
    hwloc_distances_s* found = nullptr;
    const int result = hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &found,
                                                   HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
    if (result != 0 || count == 0 || found == nullptr) {
        return rows;
    }
    const auto size = static_cast<std::size_t>(found->nbobjs);
    if (found->nbobjs == static_cast<unsigned>(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE))) {
        rows.assign(size, std::vector<std::uint64_t>(size));
        for (std::size_t from = 0; from < size; ++from) {
            for (std::size_t to = 0; to < size; ++to) {
                rows[found->objs[from]->logical_index][found->objs[to]->logical_index] =
                    found->values[from * size + to];
            }
        }
    }
    hwloc_distances_release(topology, found);
    return rows;
}

std::vector<CoreKind> kinds_of(hwloc_topology_t topology) {
    std::vector<CoreKind> kinds;
    const int count = hwloc_cpukinds_get_nr(topology, 0);
    const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
    for (int i = 0; i < count; ++i) {
        CoreKind kind;
        unsigned infos = 0;
        hwloc_info_s* list = nullptr;
        check(
            hwloc_cpukinds_get_info(topology, static_cast<unsigned>(i), set.get(), &kind.efficiency, &infos, &list, 0));
        kind.pus = in_set(set.get());
        kind.infos = infos_of(list, infos);
        kinds.push_back(std::move(kind));
    }
    return kinds;
}

// What of the system's devices is of use here; empty for any other.
const char* kind_of_os_device(hwloc_obj_osdev_type_t type) {
    switch (type) {
        case HWLOC_OBJ_OSDEV_BLOCK:
            return "block";
        case HWLOC_OBJ_OSDEV_NETWORK:
            return "network";
        case HWLOC_OBJ_OSDEV_OPENFABRICS:
            return "openfabrics";
        case HWLOC_OBJ_OSDEV_GPU:
            return "gpu";
        case HWLOC_OBJ_OSDEV_COPROC:
            return "coprocessor";
        default:
            return "";
    }
}

std::string bus_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& at) {
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%01x", static_cast<unsigned>(at.domain),
                  static_cast<unsigned>(at.bus), static_cast<unsigned>(at.dev), static_cast<unsigned>(at.func));
    return text;
}

// What lspci calls it, as far as the file or the system say.
std::string model_of(hwloc_obj_t pci) {
    const Infos infos = infos_of(pci->infos, pci->infos_count);
    std::string model;
    for (const char* name : {"PCIVendor", "PCIDevice"}) {
        const auto found = infos.find(name);
        if (found != infos.end()) {
            model += (model.empty() ? "" : " ") + found->second;
        }
    }
    return model;
}

void place_device(hwloc_topology_t topology, hwloc_obj_t object, Device& device) {
    hwloc_obj_t pci = object;
    while (pci != nullptr && pci->type != HWLOC_OBJ_PCI_DEVICE) {
        pci = pci->parent;
    }
    if (pci != nullptr) {
        device.bus = bus_of(pci->attr->pcidev);
        device.model = model_of(pci);
    }
    device.pus = in_set(hwloc_get_non_io_ancestor_obj(topology, object)->cpuset);
}

std::vector<Device> devices_of(hwloc_topology_t topology) {
    std::vector<Device> devices;
    for (hwloc_obj_t object = hwloc_get_next_osdev(topology, nullptr); object != nullptr;
         object = hwloc_get_next_osdev(topology, object)) {
        Device device;
        device.name = object->name != nullptr ? object->name : "";
        device.kind = kind_of_os_device(object->attr->osdev.type);
        if (!device.kind.empty() && !device.name.empty()) {
            place_device(topology, object, device);
            devices.push_back(std::move(device));
        }
    }
    // a graphics processor without a driver has no name, and is one all the same
    constexpr unsigned kDisplay = 0x03;
    for (hwloc_obj_t object = hwloc_get_next_pcidev(topology, nullptr); object != nullptr;
         object = hwloc_get_next_pcidev(topology, object)) {
        if (object->attr->pcidev.class_id >> 8 == kDisplay) {
            Device device;
            device.kind = "gpu";
            place_device(topology, object, device);
            devices.push_back(std::move(device));
        }
    }
    return devices;
}

}  // namespace

void Topology::Destroy::operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }

Topology Topology::prepare() {
    hwloc_topology_t topology = nullptr;
    check(hwloc_topology_init(&topology));
    Topology prepared(topology);
    check(hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL));
    check(hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT));
    // Processors that this process may not use are part of the machine all the same.
    check(hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED));
    return prepared;
}

void Topology::load() {
    errno = 0;
    check(hwloc_topology_load(handle_.get()));
    const int count = hwloc_get_nbobjs_by_type(handle_.get(), HWLOC_OBJ_PU);
    if (count <= 0) {
        throw TopologyError("it has no processors");
    }
}

Topology Topology::live(bool devices) {
    Topology topology = prepare();
    if (!devices) {
        check(hwloc_topology_set_io_types_filter(topology.handle_.get(), HWLOC_TYPE_FILTER_KEEP_NONE));
    }
    topology.load();
    return topology;
}

Topology Topology::from_xml(const std::string& path) {
    Topology topology = prepare();
    errno = 0;
    check(hwloc_topology_set_xml(topology.handle_.get(), path.c_str()));
    topology.load();
    return topology;
}

Topology Topology::from_synthetic(const std::string& text) {
    Topology topology = prepare();
    errno = 0;
    check(hwloc_topology_set_synthetic(topology.handle_.get(), text.c_str()));
    topology.load();
    return topology;
}

Description Topology::describe() const {
    hwloc_topology_t topology = handle_.get();
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    Description description;
    description.tree = object_of(root);
    description.caches = caches_of(topology);
    description.numa_nodes = numa_nodes_of(topology);
    description.distances = distances_of(topology);
    description.kinds = kinds_of(topology);
    description.devices = devices_of(topology);
    description.infos = infos_of(root->infos, root->infos_count);
    description.allowed = in_set(hwloc_topology_get_allowed_cpuset(topology));
    if (hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0)) {
        description.infos.merge(infos_of(package->infos, package->infos_count));
    }
    return description;
}

std::string Topology::xml() const {
    char* buffer = nullptr;
    int length = 0;
    errno = 0;
    check(hwloc_topology_export_xmlbuffer(handle_.get(), &buffer, &length, 0));
    std::string text(buffer);  // its length counts the closing zero
    hwloc_free_xmlbuffer(handle_.get(), buffer);
    return text;
}

std::string hwloc_version() {
    const unsigned version = hwloc_get_api_version();
    return std::to_string(version >> 16U) + "." + std::to_string((version >> 8U) & 0xffU);
}

}  // namespace nodewise
