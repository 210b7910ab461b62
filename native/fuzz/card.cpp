// SPDX-License-Identifier: BSD-3-Clause
// What an endpoint that talks by libfabric is told where it meets another one: read in two parts, as a socket may bring
// it.
#include "transport/card.h"

#include <cstdlib>

#include "transport/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace nodewise::transport;
    const std::span<const std::byte> heard(reinterpret_cast<const std::byte*>(data), size);
    try {
        decode_card(heard.first(size / 2));
        if (const std::optional<Card> card = decode_card(heard)) {
            const std::vector<std::byte> again = encode(*card);
            const std::optional<Card> same = decode_card(again);
            if (!same || same->name != card->name || same->provider != card->provider || same->cookie != card->cookie) {
                std::abort();
            }
        }
    } catch (const Error&) {
        return 0;
    }
    return 0;
}
