// SPDX-License-Identifier: BSD-3-Clause
// What hwloc knows of a machine, as plain values. Processors are operating-system indexes throughout.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct hwloc_topology;

namespace nodewise {

using Processors = std::vector<int>;
using Infos = std::map<std::string, std::string>;

// An object of hwloc's tree; os_index is -1 where there is none. Instruction caches and memory are left out of the
// tree.
struct Object {
    std::string kind;
    int logical = -1;
    int os_index = -1;
    std::uint64_t size_bytes = 0;
    Processors pus;
    std::vector<Object> children;
};

struct Cache {
    int level = 0;
    std::string content;  // unified, data or instruction
    std::uint64_t size_bytes = 0;
    int line_bytes = 0;
    Processors pus;
};

struct NumaNode {
    int os_index = -1;
    std::uint64_t size_bytes = 0;
    std::string subtype;
    std::uint64_t bandwidth_mib_s = 0;  // from its best initiator; 0 where the firmware does not say
    std::uint64_t latency_ns = 0;
    Processors pus;
};

struct CoreKind {
    int efficiency = -1;
    Processors pus;
    Infos infos;
};

// A device that threads may sit near to: a disk, an adapter, an accelerator.
struct Device {
    std::string name;  // the system's, such as nvme0n1; empty for one that has none
    std::string kind;  // block, network, openfabrics, gpu, coprocessor
    std::string bus;   // its PCI address, 0000:3b:00.0; empty where it is on none
    std::string model;
    Processors pus;  // the nearest ones
};

struct Description {
    Object tree;
    std::vector<Cache> caches;
    std::vector<NumaNode> numa_nodes;
    std::vector<std::vector<std::uint64_t>> distances;  // in the order of numa_nodes; empty where unknown
    std::vector<CoreKind> kinds;
    std::vector<Device> devices;
    Infos infos;         // of the machine and of its first socket
    Processors allowed;  // those that what was loaded says may be used
};

struct TopologyError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A loaded topology. Every way to load one throws TopologyError with the system's reason where it fails.
class Topology {
  public:
    // Without `devices` those are left out, whose reading is most of the time that a small machine takes.
    static Topology live(bool devices = true);
    static Topology from_xml(const std::string& path);
    static Topology from_synthetic(const std::string& text);

    [[nodiscard]] Description describe() const;
    [[nodiscard]] std::string xml() const;

  private:
    struct Destroy {
        void operator()(hwloc_topology* topology) const;
    };
    explicit Topology(hwloc_topology* topology) : handle_(topology) {}
    void load();

    static Topology prepare();
    std::unique_ptr<hwloc_topology, Destroy> handle_;
};

std::string hwloc_version();

}  // namespace nodewise
