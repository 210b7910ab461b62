// SPDX-License-Identifier: BSD-3-Clause
// Asks likwid's own code, linked to this, which processors expressions mean on a machine that is not here. Standard input
// holds: sockets, cores of a socket, hardware threads of a core and of a last-level cache, the number of processors; of each its
// number, which of its core it is, core and socket; the number of NUMA nodes, of each how many processors, and these; then an
// expression. The answer is how many processors it lists, and these.
#include <likwid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tree.h>
#include <types.h>

CpuTopology cpuid_topology;
CpuInfo cpuid_info;
int perfmon_verbosity;
static NumaTopology nodes;
static CacheLevel cache;

int topology_init(void) { return 0; }
int numa_init(void) { return 0; }
CpuTopology_t get_cpuTopology(void) { return &cpuid_topology; }
NumaTopology_t get_numaTopology(void) { return &nodes; }
CpuInfo_t get_cpuInfo(void) { return &cpuid_info; }

static uint32_t next(void) {
    unsigned number = 0;
    if (scanf("%u", &number) != 1) {
        exit(2);
    }
    return number;
}

static TreeNode* below(TreeNode* node, uint32_t id) {
    if (!tree_nodeExists(node, (int)id)) {
        tree_insertNode(node, (int)id);
    }
    return tree_getNode(node, (int)id);
}

int main(void) {
    CpuTopology* machine = &cpuid_topology;
    machine->numSockets = next();
    machine->numCoresPerSocket = next();
    machine->numThreadsPerCore = next();
    cache.threads = next();
    machine->numCacheLevels = 1;
    machine->cacheLevels = &cache;
    uint32_t count = next();
    machine->numHWThreads = machine->activeHWThreads = count;
    machine->threadPool = calloc(count, sizeof(HWThread));
    tree_init((TreeNode**)&machine->topologyTree, 0);
    for (uint32_t i = 0; i < count; ++i) {
        HWThread* one = &machine->threadPool[i];
        one->apicId = next();
        one->threadId = next();
        one->coreId = next();
        one->packageId = next();
        one->inCpuSet = 1;
        below(below(below((TreeNode*)machine->topologyTree, one->packageId), one->coreId), one->apicId);
    }
    nodes.numberOfNodes = next();
    nodes.nodes = calloc(nodes.numberOfNodes, sizeof(NumaNode));
    for (uint32_t i = 0; i < nodes.numberOfNodes; ++i) {
        NumaNode* one = &nodes.nodes[i];
        one->id = i;
        one->numberOfProcessors = next();
        one->processors = calloc(count, sizeof(uint32_t));
        for (uint32_t j = 0; j < one->numberOfProcessors; ++j) {
            one->processors[j] = next();
        }
    }
    char text[1000];
    if (scanf(" %999s", text) != 1) {
        return 2;
    }
    // as long as likwid-pin's own: what it lists beyond that it writes past the end
    int* found = calloc(count, sizeof(int));
    int number = cpustr_to_cpulist(text, found, (int)count);
    printf("\nanswer %d", number);
    for (int i = 0; i < number && i < (int)count; ++i) {
        printf(" %d", found[i]);
    }
    printf("\n");
    return 0;
}
