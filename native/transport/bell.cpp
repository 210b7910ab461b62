// SPDX-License-Identifier: BSD-3-Clause
#include "transport/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "transport/error.h"

namespace nodewise::transport {

Bell::Bell() : fd_(make_segment(kPage)), page_(fd_, 0, kPage, true) {
    sleeping_ = new (page_.data()) std::atomic<std::uint32_t>(0);
}

Bell::Bell(const Fd& theirs) {
    check_segment(theirs, kPage);
    page_ = Mapping(theirs, 0, kPage, true);
    sleeping_ = reinterpret_cast<std::atomic<std::uint32_t>*>(page_.data());
}

void Bell::announce() const {
    sleeping_->store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (takes_part_in_barriers()) {
        barrier_for_all();
    }
}

void Bell::sleep(std::int64_t at_most_ns) const {
    const timespec most{.tv_sec = at_most_ns / 1'000'000'000, .tv_nsec = at_most_ns % 1'000'000'000};
    syscall(SYS_futex, sleeping_, FUTEX_WAIT, 1, &most, nullptr, 0);
    stay_awake();
}

void Bell::wake() const {
    if (sleeping_->exchange(0, std::memory_order_relaxed) != 0) {
        syscall(SYS_futex, sleeping_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
}

}  // namespace nodewise::transport
