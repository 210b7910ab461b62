// SPDX-License-Identifier: BSD-3-Clause
#include "transport/guard.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <string>

#include "transport/error.h"

namespace nodewise::transport {

namespace {

constexpr int kTries = 64;

// A descriptor that came from another process is the same open file as there, and so would be its locks.
Fd opened_again(const Fd& fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
    return Fd(checked(open(path.c_str(), O_RDWR | O_CLOEXEC), "opening shared memory again"));
}

}  // namespace

Guard::Guard() : fd_(make_segment(kPage)), own_(opened_again(fd_)), page_(fd_, 0, kPage, true) {
    inside_ = new (page_.data()) std::atomic<std::uint32_t>(0);
}

Guard::Guard(const Fd& theirs) {
    check_segment(theirs, kPage);
    own_ = opened_again(theirs);
    page_ = Mapping(theirs, 0, kPage, true);
    inside_ = reinterpret_cast<std::atomic<std::uint32_t>*>(page_.data());
}

bool Guard::lock(short how) const {
    struct flock all{};
    all.l_type = how;
    all.l_whence = SEEK_SET;
    return fcntl(own_.get(), F_OFD_SETLK, &all) == 0;
}

Guard::Entry Guard::enter() const {
    for (int i = 0; !lock(F_WRLCK); ++i) {
        if (i == kTries) {
            return Entry::kBusy;
        }
        sched_yield();
    }
    if (inside_->load(std::memory_order_acquire) != 0) {
        lock(F_UNLCK);
        return Entry::kBroken;
    }
    inside_->store(1, std::memory_order_release);
    return Entry::kIn;
}

void Guard::leave() const {
    inside_->store(0, std::memory_order_release);
    lock(F_UNLCK);
}

}  // namespace nodewise::transport
