// SPDX-License-Identifier: BSD-3-Clause
// What an endpoint has of one peer, wherever that is.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "transport/bell.h"
#include "transport/hello.h"
#include "transport/ledger.h"
#include "transport/topics.h"

namespace nodewise::transport {

struct Link {
    Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    virtual ~Link() = default;
    // Ends it from this side.
    virtual void part() = 0;

    pid_t pid = 0;
    std::string place;  // where that process is; empty: here
    std::uint64_t serial = 0;
    std::unique_ptr<Writer> out;  // where we write
    std::unique_ptr<Reader> in;   // where the peer does
    std::unique_ptr<Bell> bell;
    bool fenced = true;
    Ledger views;
    Reader::Mark free{};            // what may be given back to the writer, which is done now and then
    std::atomic<bool> gone{false};  // its process has ended, or it has closed
    std::string why;                // before that: what it did, if it has not just gone

    Topics topics;                // that it has subscribed to
    std::deque<Change> changes;   // of ours, that it has not been told
    std::uint64_t published = 0;  // messages meant for it, or by it for us

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
