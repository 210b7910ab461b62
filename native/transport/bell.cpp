// SPDX-License-Identifier: BSD-3-Clause
#include "transport/bell.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <utility>

#include "transport/error.h"

namespace nodewise::transport {

Bell::Bell()
    : fd_(make_segment(kPage)),
      event_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      page_(fd_, 0, kPage, true) {
    sleeping_ = new (page_.data()) std::atomic<std::uint32_t>(kAwake);
}

Bell::Bell(const Fd& theirs, Fd event) : event_(std::move(event)) {
    check_segment(theirs, kPage);
    page_ = Mapping(theirs, 0, kPage, true);
    sleeping_ = reinterpret_cast<std::atomic<std::uint32_t>*>(page_.data());
}

void Bell::announce(std::uint32_t how) const {
    sleeping_->store(how, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (takes_part_in_barriers()) {
        barrier_for_all();
    }
}

void Bell::sleep(std::int64_t at_most_ns) const {
    const timespec most{.tv_sec = at_most_ns / 1'000'000'000, .tv_nsec = at_most_ns % 1'000'000'000};
    syscall(SYS_futex, sleeping_, FUTEX_WAIT, kAsleep, &most, nullptr, 0);
    stay_awake();
}

void Bell::announce_on_event() const {
    eventfd_t count = 0;
    eventfd_read(event_.get(), &count);  // not readable: nothing to take back
    announce(kOnEvent);
}

void Bell::show_on_event() const { eventfd_write(event_.get(), 1); }

void Bell::wake() const {
    const std::uint32_t how = sleeping_->exchange(kAwake, std::memory_order_acq_rel);
    if (how == kAsleep) {
        syscall(SYS_futex, sleeping_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    } else if (how == kOnEvent) {
        show_on_event();
    }
}

}  // namespace nodewise::transport
