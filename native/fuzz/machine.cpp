// SPDX-License-Identifier: BSD-3-Clause
// Machines from XML (a first byte '<') or hwloc's synthetic text. hwloc itself may crash on either, which is why
// nodewise reads machines in a child: here a child tries first, and only what hwloc takes is described, instrumented,
// by us.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>

#include "machine/topology.h"

namespace {

constexpr unsigned kPatience_s = 5;
constexpr int kOurs = 77;

volatile bool loading = true;

// In the child: a crash, or too long a time, of hwloc's is its own affair.
void on_signal(int) { _exit(loading ? 0 : kOurs); }

nodewise::Topology load(const std::string& text, const std::string& path) {
    return text[0] == '<' ? nodewise::Topology::from_xml(path) : nodewise::Topology::from_synthetic(text);
}

void describe(const nodewise::Topology& topology) {
    const nodewise::Description description = topology.describe();
    if (description.tree.pus.empty() ||
        (!description.distances.empty() && description.distances.size() != description.numa_nodes.size())) {
        std::abort();
    }
}

// Whether hwloc takes it.
bool tried(const std::string& text, const std::string& path) {
    const pid_t child = fork();
    if (child == 0) {
        for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM}) {
            signal(number, on_signal);
        }
        alarm(kPatience_s);
        try {
            const nodewise::Topology topology = load(text, path);
            loading = false;
            describe(topology);
            _exit(1);
        } catch (const std::exception&) {
            _exit(loading ? 0 : kOurs);
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kOurs) {
        std::abort();
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

}  // namespace

// Called by the sanitizer when it has found something, before it reports.
extern "C" void __asan_on_error() {  // NOLINT(bugprone-reserved-identifier): its name
    static const pid_t self = getpid();
    if (loading && getpid() != self) {
        _exit(0);
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // hwloc's own messages say nothing of ours
    static const int quiet = setenv("HWLOC_HIDE_ERRORS", "2", 1);  // NOLINT(concurrency-mt-unsafe): one thread
    static const int file = memfd_create("machine", 0);
    static const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (quiet != 0 || size == 0 || text.find('\0') != std::string::npos) {
        return 0;
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
        std::abort();
    }
    if (tried(text, path)) {
        describe(load(text, path));
    }
    return 0;
}
