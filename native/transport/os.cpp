// SPDX-License-Identifier: BSD-3-Clause
#include "transport/os.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "transport/error.h"

namespace nodewise::transport {

namespace {

std::atomic<std::uint32_t> forks{0};

// At load, so that no fork goes unseen.
const int watching = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint32_t generation() { return forks.load(std::memory_order_relaxed); }

bool takes_part_in_barriers() {
#if defined(__SANITIZE_THREAD__)
    return false;  // it does not know of such barriers
#else
    static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
    return watching == 0 && registered;
#endif
}

void barrier_for_all() { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

int processors() {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 2;
}

Fd descriptor_of_process(pid_t pid) { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

}  // namespace nodewise::transport
