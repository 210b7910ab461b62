// SPDX-License-Identifier: BSD-3-Clause
// The machine as hwloc sees it, as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nodewise {

// One object of the tree; `kind` is hwloc's name in lower case, `os_index` -1 where there is none.
struct Object {
    std::string kind;
    int logical = 0;
    int os_index = -1;
    std::uint64_t size_bytes = 0;
    unsigned line_bytes = 0;
    unsigned cache_level = 0;
    std::string cache_content;
    std::vector<int> pus;
    std::vector<Object> children;
};

struct MemoryNode {
    int os_index = 0;
    std::uint64_t size_bytes = 0;
    std::string subtype;
    std::vector<int> pus;
};

struct Kind {
    int efficiency = -1;
    std::vector<int> pus;
    std::vector<std::pair<std::string, std::string>> infos;
};

struct Topology {
    Object root;
    std::vector<MemoryNode> memory_nodes;
    std::vector<std::vector<std::uint64_t>> distances;
    std::vector<Kind> kinds;
    // Processors that hwloc found not to be disallowed by a cpuset.
    std::vector<int> allowed;
    std::map<std::string, std::string> infos;
    std::string xml;
};

enum class Source { live, xml_file, synthetic };

// Loads a topology. `text` is a file's path or a synthetic description; it is not looked at for a live one.
// Throws std::runtime_error with hwloc's reason where the source cannot be read.
Topology load_topology(Source source, const std::string& text);

}  // namespace nodewise
