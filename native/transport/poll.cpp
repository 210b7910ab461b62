// SPDX-License-Identifier: BSD-3-Clause
// Waits for one of several endpoints.
#include <poll.h>

#include <vector>

#include "transport/endpoint.h"

namespace nodewise::transport {

namespace {

constexpr std::int64_t kSlice = 100'000'000;  // ns, between looks at what interrupts

std::uint32_t look_at(std::span<nwt_item> items) {
    std::uint32_t ready = 0;
    for (nwt_item& item : items) {
        item.ready = item.wanted == 0 ? 0 : item.endpoint->ready(item.wanted);
        ready += item.ready != 0 ? 1 : 0;
    }
    return ready;
}

}  // namespace

bool poll_items(std::span<nwt_item> items, Deadline deadline, std::uint32_t& ready) {
    ready = look_at(items);
    if (ready != 0 || deadline.at_once()) {
        return ready != 0;
    }
    std::vector<pollfd> watched;
    for (const nwt_item& item : items) {
        watched.push_back({.fd = item.endpoint->descriptor(), .events = POLLIN, .revents = 0});
    }
    while (true) {
        items.front().endpoint->ask();
        for (const nwt_item& item : items) {
            item.endpoint->arm();
        }
        ready = look_at(items);
        const std::int64_t left = deadline.left_ns(kSlice);
        if (ready != 0 || left == 0) {
            break;
        }
        const timespec most{.tv_sec = 0, .tv_nsec = left};
        ppoll(watched.data(), watched.size(), &most, nullptr);
    }
    for (const nwt_item& item : items) {
        item.endpoint->disarm();
    }
    return ready != 0;
}

}  // namespace nodewise::transport
