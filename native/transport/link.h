// SPDX-License-Identifier: BSD-3-Clause
// What an endpoint has of one peer on this machine.
#pragma once

#include <atomic>
#include <memory>

#include "transport/bell.h"
#include "transport/hello.h"
#include "transport/ledger.h"

namespace nodewise::transport {

struct Link {
    Fd socket, process;
    pid_t pid = 0;
    std::uint64_t serial = 0;
    std::unique_ptr<Writer> out;  // a push's
    std::unique_ptr<Reader> in;   // a pull's
    std::unique_ptr<Bell> bell;
    bool fenced = true;
    Ledger views;
    Reader::Mark free{};            // what may be given back to the writer, which is done now and then
    std::atomic<bool> gone{false};  // its process has ended, or it has closed

    void ring() const { bell->ring(fenced); }

    // Gives back what is free: at once, or where it is worth it, or nothing else is there to do.
    void give_back(bool at_once) {
        if (in->behind(free) && (at_once || in->far_behind(free) || !in->ready())) {
            in->give_back(free);
            ring();
        }
    }
};

}  // namespace nodewise::transport
