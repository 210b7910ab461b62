// SPDX-License-Identifier: BSD-3-Clause
// What every transport has to do; transport.h says what each function means. All throw Error.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "transport/error.h"
#include "transport/os.h"

struct nwt_endpoint {
    nwt_endpoint() = default;
    nwt_endpoint(const nwt_endpoint&) = delete;
    nwt_endpoint& operator=(const nwt_endpoint&) = delete;
    virtual ~nwt_endpoint() = default;

    // These return false where the time is over.
    virtual bool send(const void* data, std::uint64_t size, nodewise::transport::Deadline deadline) = 0;
    virtual bool peek(std::uint64_t& size, nodewise::transport::Deadline deadline) = 0;
    virtual bool receive(void* buffer, std::uint64_t room, std::uint64_t& size,
                         nodewise::transport::Deadline deadline) = 0;
    virtual bool receive_loan(nwt_view& view, nodewise::transport::Deadline deadline) = 0;
    virtual bool loan(std::uint64_t size, void*& data, nodewise::transport::Deadline deadline) = 0;
    virtual bool wait_peers(std::uint32_t at_least, nodewise::transport::Deadline deadline) = 0;
    virtual bool close(nodewise::transport::Deadline deadline) = 0;

    virtual bool send_parts(std::span<const nwt_part> parts, nodewise::transport::Deadline deadline) = 0;

    virtual void give_back(const nwt_view& view) = 0;
    virtual std::span<const std::uint64_t> parts() = 0;
    virtual void subscribe(std::string_view prefix, bool wanted) = 0;
    virtual std::uint64_t left_out() const = 0;
    virtual std::string address() const = 0;
    virtual std::string provider() const = 0;
    // Of what is wanted (nwt_event), what is so now; an error that a call would meet is, too.
    virtual std::uint32_t ready(std::uint32_t wanted) = 0;
    virtual int descriptor() = 0;
    // From now on descriptor() is readable only once something has come to pass.
    virtual void arm() = 0;
    // It is readable at once.
    virtual void disarm() = 0;
    virtual void ask() const = 0;  // throws NWT_INTERRUPTED
    virtual void send_loan() = 0;
    virtual void drop_loan() = 0;
    // In a child of a fork: nothing that the parent still has is touched.
    virtual void forget() = 0;

    std::uint32_t born = nodewise::transport::generation();
    nwt_loss loss{};
};

namespace nodewise::transport {

struct Options {
    std::int32_t pattern = 0;
    std::string scheme, name;  // of the address
    bool bind = false;
    bool spin = false;
    bool wait_for_all = false;  // who publishes: for subscribers without room
    std::uint64_t capacity = 0, slots = 0;
    std::uint32_t rma_from = 0;  // bytes; 0: as is good for the provider
    int (*interrupted)(void*) = nullptr;
    void* context = nullptr;
};

using Endpoint = nwt_endpoint;

std::unique_ptr<Endpoint> open_endpoint(const Options& options);

// nwt_poll, of items that are right. False where the time is over.
bool poll_items(std::span<nwt_item> items, Deadline deadline, std::uint32_t& ready);

}  // namespace nodewise::transport
