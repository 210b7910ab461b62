// SPDX-License-Identifier: BSD-3-Clause
// What a transport is to an endpoint: it lets peers in, or goes to one, makes a link of rings with each, and sees when
// they go. Each has a thread of its own for it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "transport/endpoint.h"
#include "transport/link.h"

namespace nodewise::transport {

class Door {
  public:
    Door(const Options& options, const Bell& bell);
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;
    virtual ~Door() = default;

    // Something has come to pass that take() tells, or a link is gone.
    bool news() const { return news_.load(std::memory_order_relaxed); }
    void tell() {
        news_.store(true, std::memory_order_seq_cst);
        bell_.ring(true);
    }
    // Peers that have come. Throws where the other side will not talk to us, and then it is not asked again; and, once
    // each time, where there is no memory for one.
    std::vector<std::shared_ptr<Link>> take();
    // The same, whatever is wrong.
    std::vector<std::shared_ptr<Link>> arrivals();

    // Nobody comes any more.
    virtual void shut() = 0;
    // What was written last is on its way; where that has to be waited for, it is, for a while.
    virtual void finish() {}
    // In a child of a fork, where the threads are not: nothing that the parent still has is touched.
    virtual void forget() = 0;
    virtual std::string address() const { return options_.scheme + "://" + options_.name; }
    virtual std::string provider() const { return {}; }

  protected:
    Shape shape() const { return {.capacity = options_.capacity, .slots = options_.slots}; }
    // Throws where its pattern does not fit ours.
    void check_pattern(std::int32_t theirs) const;
    void arrive(std::shared_ptr<Link> link);
    // A refusal will be so the next time, too: it is the endpoint's answer from now on.
    void report(const Error& problem);
    bool refused() const { return refused_.load(std::memory_order_relaxed); }

    const Options options_;
    const Bell& bell_;

  private:
    alignas(128) std::atomic<bool> news_{false};
    std::atomic<bool> refused_{false};
    std::mutex mutex_;
    std::vector<std::shared_ptr<Link>> arrived_;
    std::optional<Error> problem_;  // of ours, or why we are refused
};

// A thread for which no signal is meant. Throws where there is none.
std::thread quiet_thread(const std::function<void()>& run);

// shm and inproc; tcp and ipc; ofi+tcp, ofi+shm and ofi+verbs.
std::unique_ptr<Door> open_local_door(const Options& options, const Bell& bell);
std::unique_ptr<Door> open_zeromq_door(const Options& options, const Bell& bell);
std::unique_ptr<Door> open_ofi_door(const Options& options, const Bell& bell);

}  // namespace nodewise::transport
