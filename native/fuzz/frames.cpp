// SPDX-License-Identifier: BSD-3-Clause
// Frames of the message transport, as tcp, ipc and libfabric bring them: each is two bytes that say its length, and so
// many bytes.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "transport/relay.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace nodewise::transport;
    constexpr Shape kShape{.capacity = 4096, .slots = 16};
    static const Bell keeper;
    const auto link = std::make_shared<RemoteLink>();
    Relay relay(link, kShape, kShape, keeper);
    if (size % 2 == 0) {  // as where the other side may write into the ring itself
        relay.allow_placing();
        relay.limit(1024, 8, 512);
    }
    link->out->show(Descriptor::make(Descriptor::kMessage, 100, true), 100, true);
    std::vector<std::byte> sent;
    const auto room = [&](std::size_t bytes) {
        sent.resize(bytes);
        return sent.data();
    };
    std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data), size);
    try {
        while (rest.size() >= 2) {
            const std::size_t length =
                std::to_integer<std::size_t>(rest[0]) + (std::to_integer<std::size_t>(rest[1]) << 8);
            const auto frame = rest.subspan(2, std::min(length, rest.size() - 2));
            rest = rest.subspan(2 + frame.size());
            relay.accept(frame);
            relay.next_frame(room);
            Descriptor found;
            while (link->in->next(found) && found.kind() == Descriptor::kMessage && found.size() <= kShape.capacity) {
                link->in->advance(found.whole() ? found.size() : link->in->piece(found.size(), 0), true);
                link->in->give_back(link->in->mark());
            }
        }
    } catch (const Error&) {
        return 0;
    }
    return 0;
}
