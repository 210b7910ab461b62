// SPDX-License-Identifier: BSD-3-Clause
#include "transport/envelope.h"

#include <cstring>

#include "transport/lane.h"

namespace nodewise::transport {

namespace {

struct Head {
    std::uint32_t bytes = 0;
    std::uint32_t type = 0;
    std::uint64_t number = 0;
    std::uint32_t parts = 0;
    std::uint32_t zero = 0;
};

}  // namespace

std::uint64_t envelope_bytes(std::size_t parts) { return lines(sizeof(Head) + (8 * parts)); }

void write_envelope(std::byte* to, std::uint32_t type, std::uint64_t number, std::span<const std::uint64_t> sizes) {
    const std::uint64_t bytes = envelope_bytes(sizes.size());
    const Head head{.bytes = static_cast<std::uint32_t>(bytes),
                    .type = type,
                    .number = number,
                    .parts = static_cast<std::uint32_t>(sizes.size())};
    std::memset(to, 0, bytes);
    std::memcpy(to, &head, sizeof head);
    if (!sizes.empty()) {
        std::memcpy(to + sizeof head, sizes.data(), sizes.size_bytes());
    }
}

void read_envelope(Envelope& envelope, std::span<const std::byte> first, std::uint64_t size) {
    Head head;
    if (first.size() < sizeof head) {
        throw Damaged("it has written an envelope that is cut off");
    }
    std::memcpy(&head, first.data(), sizeof head);
    if (head.parts > NWT_MAX_PARTS || head.bytes != envelope_bytes(head.parts) || head.bytes > first.size() ||
        head.type < Envelope::kPlain || head.type > Envelope::kUnsubscribe || head.zero != 0) {
        throw Damaged("it has written what is no envelope");
    }
    envelope.type = head.type;
    envelope.number = head.number;
    envelope.bytes = head.bytes;
    envelope.sizes.resize(head.parts);
    if (head.parts == 0) {
        return;
    }
    std::memcpy(envelope.sizes.data(), first.data() + sizeof head, 8 * std::uint64_t{head.parts});
    std::uint64_t left = size - head.bytes;
    for (const std::uint64_t part : envelope.sizes) {
        if (part > left) {
            throw Damaged("it has written parts that are longer than their message");
        }
        left -= part;
    }
    if (left != 0) {
        throw Damaged("it has written parts that are shorter than their message");
    }
}

}  // namespace nodewise::transport
