// SPDX-License-Identifier: BSD-3-Clause
// The C interface: arguments are checked here, and errors become statuses.
#include "transport/transport.h"

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

#include "transport/endpoint.h"
#include "transport/lane.h"

namespace {

using nodewise::transport::Deadline;
using nodewise::transport::Error;
using nodewise::transport::PeerLost;

thread_local std::string explanation;

int failed(nwt_status status, const char* what) {
    try {
        explanation = what;
    } catch (const std::bad_alloc&) {
        explanation.clear();
    }
    return status;
}

template <typename Call>
int guarded(nwt_endpoint* endpoint, Call call) {
    try {
        if (endpoint != nullptr && endpoint->born != nodewise::transport::generation()) [[unlikely]] {
            return failed(NWT_FORKED,
                          "the endpoint belongs to the process that opened it, not to one forked from that");
        }
        return call() ? NWT_OK : failed(NWT_TIMED_OUT, "the time is over");
    } catch (const PeerLost& problem) {
        if (endpoint != nullptr) {
            endpoint->loss = {.pid = problem.pid(), .messages = problem.messages()};
        }
        return failed(NWT_PEER_LOST, problem.what());
    } catch (const Error& problem) {
        return failed(problem.status(), problem.what());
    } catch (const std::exception& problem) {
        return failed(NWT_SYSTEM, problem.what());
    }
}

void need(bool right, const char* what) {
    if (!right) [[unlikely]] {
        throw Error(NWT_INVALID, what);
    }
}

constexpr std::uint32_t kFirstOptions = offsetof(nwt_options, full);  // of the first version of transport.h

bool is_scheme(const std::string& scheme) {
    return scheme == "shm" || scheme == "inproc" || scheme == "tcp" || scheme == "ipc" || scheme == "ofi+tcp" ||
           scheme == "ofi+shm" || scheme == "ofi+verbs";
}

nodewise::transport::Options checked_options(const nwt_options* asked) {
    need(asked != nullptr && (asked->size == sizeof(nwt_options) || asked->size == kFirstOptions),
         "options of another version of transport.h, or none");
    nwt_options given{};
    std::memcpy(&given, asked, asked->size);
    need(given.pattern >= NWT_PUSH && given.pattern <= NWT_REPLY, "the pattern is one of enum nwt_pattern");
    need(given.waiting == NWT_BLOCK || given.waiting == NWT_SPIN, "the waiting is NWT_BLOCK or NWT_SPIN");
    need(given.bind == 0 || given.bind == 1, "bind is 0 or 1");
    need(given.full == NWT_DROP || given.full == NWT_WAIT, "full is NWT_DROP or NWT_WAIT");
    need(given.address != nullptr, "no address");
    nodewise::transport::Options options{.pattern = given.pattern,
                                         .scheme = {},
                                         .name = {},
                                         .bind = given.bind == 1,
                                         .spin = given.waiting == NWT_SPIN,
                                         .wait_for_all = given.full == NWT_WAIT,
                                         .capacity = given.capacity == 0 ? 4 << 20 : given.capacity,
                                         .slots = given.slots == 0 ? 8192 : given.slots,
                                         .rma_from = given.rma_from,
                                         .interrupted = given.interrupted,
                                         .context = given.context};
    const std::string address = given.address;
    const std::size_t middle = address.find("://");
    if (middle != std::string::npos) {
        options.scheme = address.substr(0, middle);
        options.name = address.substr(middle + 3);
    }
    if (!is_scheme(options.scheme) || options.name.empty()) {
        throw Error(NWT_INVALID,
                    "an address is shm://NAME, inproc://NAME, ipc://NAME, tcp://HOST:PORT, ofi+shm://NAME, "
                    "ofi+tcp://HOST:PORT or "
                    "ofi+verbs://HOST:PORT, not '" +
                        address + "'");
    }
    need(nodewise::transport::Shape{.capacity = options.capacity, .slots = options.slots}.valid(),
         "the capacity is a power of two from 4096 to 68719476736, the slots one from 2 to 16777216");
    if (options.pattern == NWT_SUBSCRIBE) {  // all that it writes is what it subscribes to
        options.capacity = 65536;
        options.slots = 1024;
    }
    return options;
}

int subscribed(nwt_endpoint* endpoint, const void* prefix, std::uint64_t size, bool wanted) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && (prefix != nullptr || size == 0), "no endpoint, or no prefix");
        endpoint->subscribe({static_cast<const char*>(prefix), static_cast<std::size_t>(size)}, wanted);
        return true;
    });
}

int told(nwt_endpoint* endpoint, char* text, uint64_t room, std::string (nwt_endpoint::*what)() const) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && text != nullptr, "no endpoint, or no place for the text");
        const std::string found = (endpoint->*what)();
        if (found.size() >= room) {
            throw Error(NWT_TOO_SMALL, "the text has " + std::to_string(found.size()) + " bytes and a zero");
        }
        std::memcpy(text, found.c_str(), found.size() + 1);
        return true;
    });
}

}  // namespace

int nwt_open(const nwt_options* options, nwt_endpoint** endpoint) {
    return guarded(nullptr, [&] {
        need(endpoint != nullptr, "no place for the endpoint");
        *endpoint = nodewise::transport::open_endpoint(checked_options(options)).release();
        return true;
    });
}

int nwt_send(nwt_endpoint* endpoint, const void* data, uint64_t size, int64_t timeout_ns) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && (data != nullptr || size == 0), "no endpoint, or no message");
        need(size <= NWT_MAX_SIZE, "a message is at most 2147483648 bytes");
        return endpoint->send(data, size, Deadline(timeout_ns));
    });
}

int nwt_send_parts(nwt_endpoint* endpoint, const nwt_part* parts, uint32_t count, int64_t timeout_ns) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && parts != nullptr, "no endpoint, or no parts");
        need(count >= 1 && count <= NWT_MAX_PARTS, "a message has 1 to 1024 parts");
        const std::span<const nwt_part> all(parts, count);
        for (const nwt_part& part : all) {
            need(part.data != nullptr || part.size == 0, "a part without data");
        }
        return endpoint->send_parts(all, Deadline(timeout_ns));
    });
}

int nwt_peek(nwt_endpoint* endpoint, uint64_t* size, int64_t timeout_ns) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && size != nullptr, "no endpoint, or no place for the size");
        return endpoint->peek(*size, Deadline(timeout_ns));
    });
}

int nwt_receive(nwt_endpoint* endpoint, void* buffer, uint64_t room, uint64_t* size, int64_t timeout_ns) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && size != nullptr && (buffer != nullptr || room == 0),
             "no endpoint, no buffer, or no place for the size");
        return endpoint->receive(buffer, room, *size, Deadline(timeout_ns));
    });
}

int nwt_receive_loan(nwt_endpoint* endpoint, nwt_view* view, int64_t timeout_ns) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && view != nullptr, "no endpoint, or no place for the view");
        return endpoint->receive_loan(*view, Deadline(timeout_ns));
    });
}

int nwt_give_back(nwt_endpoint* endpoint, const nwt_view* view) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && view != nullptr, "no endpoint, or no view");
        endpoint->give_back(*view);
        return true;
    });
}

int nwt_parts(nwt_endpoint* endpoint, const uint64_t** sizes, uint32_t* count) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && sizes != nullptr && count != nullptr, "no endpoint, or no place for the sizes");
        const std::span<const std::uint64_t> parts = endpoint->parts();
        *sizes = parts.data();
        *count = static_cast<uint32_t>(parts.size());
        return true;
    });
}

int nwt_loan(nwt_endpoint* endpoint, uint64_t size, void** data, int64_t timeout_ns) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && data != nullptr, "no endpoint, or no place for the loan");
        need(size <= NWT_MAX_SIZE, "a message is at most 2147483648 bytes");
        return endpoint->loan(size, *data, Deadline(timeout_ns));
    });
}

int nwt_send_loan(nwt_endpoint* endpoint) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr, "no endpoint");
        endpoint->send_loan();
        return true;
    });
}

int nwt_drop_loan(nwt_endpoint* endpoint) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr, "no endpoint");
        endpoint->drop_loan();
        return true;
    });
}

int nwt_subscribe(nwt_endpoint* endpoint, const void* prefix, uint64_t size) {
    return subscribed(endpoint, prefix, size, true);
}

int nwt_unsubscribe(nwt_endpoint* endpoint, const void* prefix, uint64_t size) {
    return subscribed(endpoint, prefix, size, false);
}

int nwt_count(nwt_endpoint* endpoint, uint64_t* left_out) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && left_out != nullptr, "no endpoint, or no place for the count");
        *left_out = endpoint->left_out();
        return true;
    });
}

int nwt_address(nwt_endpoint* endpoint, char* text, uint64_t room) {
    return told(endpoint, text, room, &nwt_endpoint::address);
}

int nwt_provider(nwt_endpoint* endpoint, char* text, uint64_t room) {
    return told(endpoint, text, room, &nwt_endpoint::provider);
}

int nwt_descriptor(nwt_endpoint* endpoint, int* descriptor) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr && descriptor != nullptr, "no endpoint, or no place for the descriptor");
        *descriptor = endpoint->descriptor();
        return true;
    });
}

int nwt_poll(nwt_item* items, uint32_t count, int64_t timeout_ns, uint32_t* ready) {
    return guarded(nullptr, [&] {
        need(items != nullptr && count != 0 && ready != nullptr, "no items, or no place for how many are ready");
        const std::span<nwt_item> all(items, count);
        for (const nwt_item& item : all) {
            need(item.endpoint != nullptr && (item.wanted & ~std::uint32_t{NWT_READABLE | NWT_WRITABLE}) == 0,
                 "an item without an endpoint, or with events that there are not");
            if (item.endpoint->born != nodewise::transport::generation()) {
                throw Error(NWT_FORKED, "an endpoint belongs to the process that opened it");
            }
        }
        return nodewise::transport::poll_items(all, Deadline(timeout_ns), *ready);
    });
}

int nwt_wait_peers(nwt_endpoint* endpoint, uint32_t at_least, int64_t timeout_ns) {
    return guarded(endpoint, [&] {
        need(endpoint != nullptr, "no endpoint");
        return endpoint->wait_peers(at_least, Deadline(timeout_ns));
    });
}

int nwt_last_loss(const nwt_endpoint* endpoint, nwt_loss* loss) {
    return guarded(nullptr, [&] {
        need(endpoint != nullptr && loss != nullptr, "no endpoint, or no place for the loss");
        *loss = endpoint->loss;
        return true;
    });
}

int nwt_close(nwt_endpoint* endpoint, int64_t timeout_ns) {
    const int status = guarded(endpoint, [&] {
        need(endpoint != nullptr, "no endpoint");
        return endpoint->close(Deadline(timeout_ns));
    });
    if (status == NWT_OK || status == NWT_PEER_LOST || status == NWT_FORKED) {
        nwt_abort(endpoint);
    }
    return status;
}

void nwt_abort(nwt_endpoint* endpoint) {
    if (endpoint != nullptr && endpoint->born != nodewise::transport::generation()) {
        endpoint->forget();
    }
    delete endpoint;
}

const char* nwt_explain(void) { return explanation.c_str(); }
