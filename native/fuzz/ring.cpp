// SPDX-License-Identifier: BSD-3-Clause
// The rings of the message transport's shared memory, written by a peer that means harm: the first byte is the pattern
// of who reads them, then come 16 descriptors, then the bytes. A view may be any message, but not lie outside.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "transport/door.h"
#include "transport/endpoint.h"

namespace nodewise::transport {

namespace {

constexpr Shape kShape{.capacity = 4096, .slots = 16};
std::span<const std::byte> written;

struct HostileLink final : Link {
    void part() override {}
    Mapping page;  // that it writes
};

class HostileDoor final : public Door {
  public:
    HostileDoor(const Options& options, const Bell& bell) : Door(options, bell) {
        auto link = std::make_shared<HostileLink>();
        const Fd memory = make_segment(kShape.segment_bytes());
        link->page = Mapping(memory, 0, kShape.segment_bytes(), true);
        const std::size_t descriptors = std::min<std::size_t>(written.size(), 8 * kShape.slots);
        std::memcpy(link->page.data() + kPage, written.data(), descriptors);
        const auto rest = written.subspan(descriptors);
        std::memcpy(link->page.data() + kPage + kShape.descriptor_bytes(), rest.data(),
                    std::min<std::size_t>(rest.size(), kShape.capacity));
        link->in = std::make_unique<Reader>(memory, kShape);
        if (writes(options.pattern)) {
            link->out = std::make_unique<Writer>(kShape);
        }
        link->bell = std::make_unique<Bell>(bell.fd(), Fd());
        link->serial = 1;
        link->gone = true;  // nothing more will come
        arrive(link);
    }
    void shut() override {}
    void forget() override {}
};

void use(nwt_endpoint& endpoint, std::vector<std::byte>& buffer, std::deque<nwt_view>& views, int turn) {
    const Deadline at_once(0);
    std::uint64_t size = 0;
    if (turn % 3 == 0) {
        endpoint.receive(buffer.data(), buffer.size(), size, at_once);
    } else if (turn % 3 == 1) {
        nwt_view view{};
        if (endpoint.receive_loan(view, at_once)) {
            views.push_back(view);
            volatile std::byte last{};
            for (std::uint64_t i = 0; i < view.size; i += 512) {
                last = static_cast<const std::byte*>(view.data)[i];
            }
            (void)last;
        }
    } else if (!views.empty()) {
        endpoint.give_back(views.front());
        views.pop_front();
    } else {
        endpoint.send("x", 1, at_once);
    }
}

}  // namespace

std::unique_ptr<Door> open_local_door(const Options& options, const Bell& bell) {
    return std::make_unique<HostileDoor>(options, bell);
}

std::unique_ptr<Door> open_zeromq_door(const Options& /*options*/, const Bell& /*bell*/) { std::abort(); }
std::unique_ptr<Door> open_ofi_door(const Options& /*options*/, const Bell& /*bell*/) { std::abort(); }

}  // namespace nodewise::transport

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace nodewise::transport;
    if (size < 9) {
        return 0;
    }
    written = {reinterpret_cast<const std::byte*>(data) + 1, size - 1};
    const Options options{
        .pattern = NWT_PULL + (data[0] % 5), .scheme = "shm", .name = "x", .capacity = 4096, .slots = 16};
    const auto endpoint = open_endpoint(options);
    std::vector<std::byte> buffer(8192);
    std::deque<nwt_view> views;
    for (int turn = data[0]; turn < data[0] + 40; ++turn) {
        try {
            use(*endpoint, buffer, views, turn);
        } catch (const Error&) {
            continue;
        } catch (const std::bad_alloc&) {
            continue;  // a message of 2 GiB that it never sent
        }
    }
    return 0;
}
