// SPDX-License-Identifier: BSD-3-Clause
// How two endpoints meet that talk by libfabric: each tells the other where its own end is, over a socket that stays
// open and whose end is that of its process.
#pragma once

#include <optional>

#include "transport/hello.h"

namespace nodewise::transport {

struct Card {
    Hello hello;
    std::string provider;
    std::uint64_t cookie = 0;     // what begins each frame to it
    std::vector<std::byte> name;  // of its end
};

constexpr std::size_t kMostCard = 1400;  // bytes, its own length included

std::vector<std::byte> encode(const Card& card);
// Nothing where bytes are still to come; throws Error(NWT_REFUSED) for what is no greeting of this version.
std::optional<Card> decode_card(std::span<const std::byte> heard);

}  // namespace nodewise::transport
