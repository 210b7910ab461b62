// SPDX-License-Identifier: BSD-3-Clause
#include "transport/card.h"

#include <cstring>

#include "transport/error.h"

namespace nodewise::transport {

namespace {

constexpr std::size_t kMostProvider = 64, kMostName = 256;

struct Lengths {  // what all begins with; then come greeting, provider and name
    std::uint32_t whole = 0, hello = 0, provider = 0, name = 0;
    std::uint64_t cookie = 0;
};

}  // namespace

std::vector<std::byte> encode(const Card& card) {
    const std::vector<std::byte> hello = encode(card.hello);
    const Lengths lengths{
        .whole = static_cast<std::uint32_t>(sizeof(Lengths) + hello.size() + card.provider.size() + card.name.size()),
        .hello = static_cast<std::uint32_t>(hello.size()),
        .provider = static_cast<std::uint32_t>(card.provider.size()),
        .name = static_cast<std::uint32_t>(card.name.size()),
        .cookie = card.cookie};
    std::vector<std::byte> bytes(sizeof lengths);
    std::memcpy(bytes.data(), &lengths, sizeof lengths);
    bytes.insert(bytes.end(), hello.begin(), hello.end());
    for (const char letter : card.provider) {
        bytes.push_back(static_cast<std::byte>(letter));
    }
    bytes.insert(bytes.end(), card.name.begin(), card.name.end());
    return bytes;
}

std::optional<Card> decode_card(std::span<const std::byte> heard) {
    Lengths lengths;
    if (heard.size() < sizeof lengths.whole) {
        return std::nullopt;
    }
    std::memcpy(&lengths.whole, heard.data(), sizeof lengths.whole);
    if (lengths.whole < sizeof lengths || lengths.whole > kMostCard || heard.size() > lengths.whole) {
        throw Error(NWT_REFUSED, "what answers is no endpoint of nodewise-transport");
    }
    if (heard.size() < lengths.whole) {
        return std::nullopt;
    }
    std::memcpy(&lengths, heard.data(), sizeof lengths);
    const std::uint64_t sum = sizeof lengths + std::uint64_t{lengths.hello} + lengths.provider + lengths.name;
    if (sum != heard.size() || lengths.provider > kMostProvider || lengths.name > kMostName) {
        throw Error(NWT_REFUSED, "what answers is no endpoint of nodewise-transport");
    }
    auto rest = heard.subspan(sizeof lengths);
    Card card{.hello = decode(rest.first(lengths.hello)), .provider = {}, .cookie = lengths.cookie, .name = {}};
    rest = rest.subspan(lengths.hello);
    for (const std::byte letter : rest.first(lengths.provider)) {
        const char plain = static_cast<char>(letter);
        card.provider += plain >= ' ' && plain < 127 ? plain : '?';
    }
    rest = rest.subspan(lengths.provider);
    card.name.assign(rest.begin(), rest.end());
    return card;
}

}  // namespace nodewise::transport
