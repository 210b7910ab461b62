// SPDX-License-Identifier: BSD-3-Clause
// From how many bytes on another order of memory accesses is better, by the processor's caches.
#include <unistd.h>

#include "study.h"

namespace parity {
namespace {

// Half a cache, as it has to hold other things too; of a system that does not know, what is usual.
std::size_t half_of(int name, std::size_t usual) {
    const long bytes = sysconf(name);
    return (bytes > 0 ? static_cast<std::size_t>(bytes) : usual) / 2;
}

}  // namespace

std::size_t most_near() {
    // asked once: it may be a call to the hypervisor
    static const std::size_t kBytes = half_of(_SC_LEVEL2_CACHE_SIZE, std::size_t{1} << 20U);
    return kBytes;
}

std::size_t most_asked() {
    static const std::size_t kBytes = half_of(_SC_LEVEL3_CACHE_SIZE, std::size_t{1} << 25U);
    return kBytes;
}

}  // namespace parity
