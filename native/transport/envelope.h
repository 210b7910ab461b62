// SPDX-License-Identifier: BSD-3-Clause
// What stands before the bytes of a message that is more than bytes: one of many parts, published, a request or a
// reply. It is padded to whole cache lines, so that what follows begins on one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/error.h"

namespace nodewise::transport {

struct Envelope {
    enum Type : std::uint32_t {
        kPlain = 1,  // pushed
        kPublished,  // number: of those that were meant for this subscriber, from 1
        kRequest,    // number: the asker's
        kReply,      // number: the request's
        kSubscribe,  // the bytes are the prefix
        kUnsubscribe
    };
    std::uint32_t type = 0;
    std::uint64_t number = 0;
    std::vector<std::uint64_t> sizes;  // of the parts; none: it is one
    std::uint64_t bytes = 0;           // of the envelope itself; 0: there is none
};

// Bytes of the envelope of a message of so many parts.
std::uint64_t envelope_bytes(std::size_t parts);

// `to` has room for envelope_bytes(sizes.size()).
void write_envelope(std::byte* to, std::uint32_t type, std::uint64_t number, std::span<const std::uint64_t> sizes);

// Of a message of `size` bytes that begins with `first`, which the peer may change meanwhile. Throws Damaged.
void read_envelope(Envelope& envelope, std::span<const std::byte> first, std::uint64_t size);

}  // namespace nodewise::transport
