// SPDX-License-Identifier: BSD-3-Clause
// Who may be at work on memory that several processes write, and whether one has died at it. libfabric's provider shm
// has spin locks in such memory: where a process is killed that holds one, all others would wait for it for ever.
// The lock is the kernel's, which ends with its process; a word beside it tells that someone is inside.
#pragma once

#include <atomic>

#include "transport/segment.h"

namespace nodewise::transport {

class Guard {
  public:
    Guard();                           // of our own memory
    explicit Guard(const Fd& theirs);  // throws Damaged
    const Fd& fd() const { return fd_; }

    // kBusy: another one is inside. kBroken: another one has died there, and nobody is to go in any more.
    enum class Entry { kIn, kBusy, kBroken };
    Entry enter() const;
    void leave() const;

  private:
    bool lock(short how) const;
    Fd fd_, own_;  // own_: the same, as a file that is locked by us alone
    Mapping page_;
    std::atomic<std::uint32_t>* inside_ = nullptr;
};

}  // namespace nodewise::transport
