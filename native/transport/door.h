// SPDX-License-Identifier: BSD-3-Clause
// Lets peers in, or goes to one, and sees when they go: a thread of its own for each endpoint, which sleeps but for
// that.
#pragma once

#include <poll.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transport/link.h"

namespace nodewise::transport {

class Door {
  public:
    struct Plan {
        std::string name;  // of the Unix socket
        bool bind = false;
        bool same_process = false;  // peers must be in it
        std::int32_t pattern = 0;
        Shape shape;
    };
    // Throws where the address is taken, or there is no memory for the first peer.
    Door(Plan plan, const Bell& bell);
    ~Door();
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

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
    // Nobody comes or goes any more.
    void stop();
    // In a child of a fork, where the thread is not.
    void forget();

  private:
    struct Guest {  // has connected, and not greeted yet
        Fd socket;
        std::int64_t until_ns;
    };
    void run();
    void serve(const std::vector<pollfd>& seen);
    std::vector<pollfd> watched() const;
    void let_in();
    bool greet(Guest& guest);
    bool knock();
    bool be_greeted();
    std::shared_ptr<Link> start_link(int socket);
    void finish_link(Link& link, const Hello& theirs, const std::vector<Fd>& descriptors);
    void arrive(const std::shared_ptr<Link>& link);
    void refuse(int socket, const std::string& reason) const;
    void report(const Error& problem);
    bool seeks() const;
    void send_hello(int socket, const Link& link) const;
    void check(const Credentials& peer) const;

    Plan plan_;
    const Bell& bell_;
    Fd stop_, listening_;
    std::vector<Guest> guests_;
    std::shared_ptr<Link> calling_;  // we have greeted it, it has not
    std::int64_t next_knock_ns_ = 0, knock_gap_ns_ = 0;
    bool refused_ = false;
    std::vector<std::shared_ptr<Link>> links_;
    std::uint64_t serial_ = 0;
    std::unique_ptr<Writer> spare_;  // for the next peer

    alignas(128) std::atomic<bool> news_{false};
    std::mutex mutex_;
    std::vector<std::shared_ptr<Link>> arrived_;
    std::optional<Error> problem_;  // of ours, or why we are refused
    std::thread thread_;
};

}  // namespace nodewise::transport
