// SPDX-License-Identifier: BSD-3-Clause
// What two endpoints of the message transport tell each other when they meet, and what stands before a message.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "transport/envelope.h"
#include "transport/hello.h"

namespace {

using namespace nodewise::transport;

void read_hello(std::span<const std::byte> bytes) {
    try {
        const Hello hello = decode(bytes);
        const Hello again = decode(encode(hello));
        if (again.pattern != hello.pattern || again.shape.slots != hello.shape.slots ||
            again.refusal != hello.refusal) {
            std::abort();
        }
    } catch (const Error&) {
        return;
    }
}

void read_letter(std::span<const std::byte> bytes) {
    try {
        Envelope envelope;
        read_envelope(envelope, bytes, bytes.size());
        std::uint64_t whole = envelope.bytes;
        for (const std::uint64_t size : envelope.sizes) {
            whole += size;
        }
        if (envelope.bytes > bytes.size() || (!envelope.sizes.empty() && whole != bytes.size())) {
            std::abort();
        }
    } catch (const Error&) {
        return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    read_hello(bytes);
    read_letter(bytes);
    return 0;
}
