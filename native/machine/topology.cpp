// SPDX-License-Identifier: BSD-3-Clause
#include "machine/topology.h"

#include <fcntl.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace nodewise {
namespace {

struct Destroy {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

// hwloc's XML reader explains itself on standard error whatever one asks; a user gets one message, from us.
class SilentStderr {
  public:
    SilentStderr() : saved_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0) {
            dup2(null, STDERR_FILENO);
            close(null);
        }
    }
    ~SilentStderr() {
        if (saved_ >= 0) {
            dup2(saved_, STDERR_FILENO);
            close(saved_);
        }
    }
    SilentStderr(const SilentStderr&) = delete;
    SilentStderr& operator=(const SilentStderr&) = delete;

  private:
    int saved_;
};

std::vector<int> indexes(hwloc_const_bitmap_t set) {
    std::vector<int> found;
    if (set == nullptr || hwloc_bitmap_weight(set) < 0) {
        return found;
    }
    for (int i = hwloc_bitmap_first(set); i != -1; i = hwloc_bitmap_next(set, i)) {
        found.push_back(i);
    }
    return found;
}

std::string lower(const char* text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

const char* content_of(hwloc_obj_cache_type_t type) {
    switch (type) {
        case HWLOC_OBJ_CACHE_DATA:
            return "data";
        case HWLOC_OBJ_CACHE_INSTRUCTION:
            return "instruction";
        default:
            return "unified";
    }
}

Object convert(hwloc_obj_t from) {
    Object object;
    object.kind = from->type == HWLOC_OBJ_PU ? "pu" : lower(hwloc_obj_type_string(from->type));
    object.logical = static_cast<int>(from->logical_index);
    object.os_index = from->os_index == HWLOC_UNKNOWN_INDEX ? -1 : static_cast<int>(from->os_index);
    if (hwloc_obj_type_is_cache(from->type) != 0 && from->attr != nullptr) {
        object.size_bytes = from->attr->cache.size;
        object.line_bytes = from->attr->cache.linesize;
        object.cache_level = from->attr->cache.depth;
        object.cache_content = content_of(from->attr->cache.type);
    }
    if (from->type == HWLOC_OBJ_PU) {
        object.pus.push_back(object.os_index);
        return object;
    }
    for (hwloc_obj_t child = from->first_child; child != nullptr; child = child->next_sibling) {
        object.children.push_back(convert(child));
        const std::vector<int>& below = object.children.back().pus;
        object.pus.insert(object.pus.end(), below.begin(), below.end());
    }
    return object;
}

std::vector<MemoryNode> memory_nodes(hwloc_topology_t topology) {
    std::vector<MemoryNode> nodes;
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
        MemoryNode out;
        out.os_index = static_cast<int>(node->os_index);
        out.size_bytes = node->attr->numanode.local_memory;
        out.subtype = node->subtype != nullptr ? node->subtype : "";
        out.pus = indexes(node->cpuset);
        nodes.push_back(std::move(out));
    }
    return nodes;
}

std::vector<std::vector<std::uint64_t>> node_distances(hwloc_topology_t topology) {
    std::vector<std::vector<std::uint64_t>> rows;
    hwloc_distances_s* matrix = nullptr;
    unsigned count = 1;
    const unsigned long latency = HWLOC_DISTANCES_KIND_MEANS_LATENCY;
    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &matrix, latency, 0) != 0 || count == 0) {
        return rows;
    }
    for (unsigned i = 0; i < matrix->nbobjs; ++i) {
        const hwloc_uint64_t* row = matrix->values + static_cast<std::size_t>(i) * matrix->nbobjs;
        rows.emplace_back(row, row + matrix->nbobjs);
    }
    hwloc_distances_release(topology, matrix);
    return rows;
}

std::vector<Kind> core_kinds(hwloc_topology_t topology) {
    std::vector<Kind> kinds;
    const int count = hwloc_cpukinds_get_nr(topology, 0);
    for (int i = 0; i < count; ++i) {
        Kind kind;
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        unsigned info_count = 0;
        hwloc_info_s* infos = nullptr;
        if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(i), set, &kind.efficiency, &info_count, &infos,
                                    0) == 0) {
            kind.pus = indexes(set);
            for (unsigned k = 0; k < info_count; ++k) {
                kind.infos.emplace_back(infos[k].name, infos[k].value);
            }
            kinds.push_back(std::move(kind));
        }
        hwloc_bitmap_free(set);
    }
    return kinds;
}

void set_source(hwloc_topology_t topology, Source source, const std::string& text) {
    int failed = 0;
    errno = 0;
    if (source == Source::xml_file) {
        failed = hwloc_topology_set_xml(topology, text.c_str());
    } else if (source == Source::synthetic) {
        failed = hwloc_topology_set_synthetic(topology, text.c_str());
    }
    if (failed != 0) {
        throw std::runtime_error(source == Source::xml_file ? "it is no hwloc XML" : "hwloc does not understand it");
    }
}

}  // namespace

Topology load_topology(Source source, const std::string& text) {
    const SilentStderr silent;
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) {
        throw std::runtime_error("hwloc cannot be initialised");
    }
    const Handle topology(raw);
    set_source(raw, source, text);
    // a live topology keeps processors that a cpuset disallows, so that one sees what one may not use
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(raw) != 0) {
        throw std::runtime_error(source == Source::xml_file ? "it is damaged or no hwloc XML" : "hwloc cannot load it");
    }
    Topology out;
    hwloc_obj_t root = hwloc_get_root_obj(raw);
    out.root = convert(root);
    out.memory_nodes = memory_nodes(raw);
    out.distances = node_distances(raw);
    out.kinds = core_kinds(raw);
    out.allowed = indexes(hwloc_topology_get_allowed_cpuset(raw));
    for (unsigned i = 0; i < root->infos_count; ++i) {
        out.infos.emplace(root->infos[i].name, root->infos[i].value);
    }
    hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0);
    for (unsigned i = 0; package != nullptr && i < package->infos_count; ++i) {
        out.infos.emplace(package->infos[i].name, package->infos[i].value);
    }
    char* buffer = nullptr;
    int length = 0;
    if (hwloc_topology_export_xmlbuffer(raw, &buffer, &length, 0) == 0) {
        out.xml.assign(buffer, length > 0 ? static_cast<std::size_t>(length) - 1 : 0);
        hwloc_free_xmlbuffer(raw, buffer);
    }
    return out;
}

}  // namespace nodewise
