// SPDX-License-Identifier: BSD-3-Clause
#include "transport/local.h"

#include <sys/socket.h>

#include <algorithm>

namespace nodewise::transport {

namespace {

Door::Plan plan_for(const Options& options) {
    const bool inside = options.scheme == "inproc";
    const long owner = inside ? getpid() : static_cast<long>(geteuid());
    return {.name = "nodewise-transport/" + options.scheme + "/" + std::to_string(owner) + "/" + options.name,
            .bind = options.bind,
            .same_process = inside,
            .pattern = options.pattern,
            .shape = {.capacity = options.capacity, .slots = options.slots}};
}

// Of what was sent to it. What a peer says that writes nonsense is worth nothing.
std::uint64_t unconfirmed(Link& link) {
    try {
        return link.out ? link.out->unconfirmed() : 0;
    } catch (const Damaged&) {
        return 0;
    }
}

}  // namespace

Local::Local(const Options& options)
    : waiter_(options.spin, options.interrupted, options.context),
      options_(options),
      piece_(Shape{.capacity = options.capacity, .slots = options.slots}.piece()),
      door_(plan_for(options), waiter_.bell()) {}

Local::~Local() {
    door_.stop();  // else it would go to look for who is left here
    for (const Shared& link : links_) {
        ::shutdown(link->socket.get(), SHUT_RDWR);
    }
}

std::unique_ptr<Endpoint> open_local(const Options& options) { return std::make_unique<Local>(options); }

void Local::forget() {
    // the sockets stay the parent's: closed here, not shut down
    links_.clear();
    door_.forget();
}

void Local::attend_news() {
    for (Shared& link : door_.take()) {
        links_.push_back(std::move(link));
    }
    for (const Shared& link : std::vector<Shared>(links_)) {
        if (!link->gone.load(std::memory_order_acquire)) {
            continue;
        }
        try {
            settle(link);
        } catch (...) {
            door_.tell();  // of others that are gone, too
            throw;
        }
    }
}

// Of a peer that is gone: whether nothing of it is left to be read. Throws where it has not taken leave.
bool Local::settle(const Shared& link) {
    if (link->in) {
        Descriptor left;
        const bool more = link->in->next(left);
        if (more && left.kind() != Descriptor::kEnd) {
            return false;
        }
        if (!more) {
            lose(link, "it has died");
        }
    } else if (!link->out->reader_closed()) {
        lose(link, "it has died");
    } else if (unconfirmed(*link) != 0) {
        lose(link, "it has closed");
    } else if (to_ == link) {
        lose(link, "it has closed while a loan for it was out");
    }
    part_from(link);
    return true;
}

// Ends it from this side, too.
void Local::part_from(const Shared& link) {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may be a member of what is changed here
    const Shared kept = link;
    ::shutdown(kept->socket.get(), SHUT_RDWR);
    std::erase(links_, kept);
    if (from_ == kept) {
        from_.reset();
    }
    if (to_ == kept) {
        to_.reset();
    }
    if (!kept->views.empty()) {
        parted_.push_back(kept);
    }
}

void Local::lose(const Shared& link, const std::string& why) {
    const std::uint64_t messages = unconfirmed(*link);
    const std::string who = "lost the peer, process " + std::to_string(link->pid) + ": " + why;
    const pid_t pid = link->pid;
    part_from(link);
    throw PeerLost(messages == 0 ? who : who + "; " + std::to_string(messages) + " messages to it were not received",
                   pid, messages);
}

bool Local::wait_peers(std::uint32_t at_least, Deadline deadline) {
    return waiter_.wait(deadline, [&] {
        attend();
        return links_.size() >= at_least;
    });
}

bool Local::close(Deadline deadline) {
    if (to_ || views_ != 0) {
        throw Error(NWT_INVALID, "loans are out: send, drop or give them back before closing");
    }
    std::unique_ptr<PeerLost> lost;
    // Of who is lost here, what it has not confirmed is told in the end; the others are still awaited.
    const auto confirmed = [&] {
        while (true) {
            try {
                attend();
                return std::ranges::all_of(std::vector<Shared>(links_),
                                           [&](const Shared& link) { return has_all(link); });
            } catch (const PeerLost& problem) {
                if (problem.messages() != 0 && !lost) {
                    lost = std::make_unique<PeerLost>(problem);
                }
            } catch (const Error& problem) {
                if (problem.status() != NWT_REFUSED && problem.status() != NWT_SYSTEM) {
                    throw;
                }
                return links_.empty();  // whoever could not come is not awaited
            }
        }
    };
    if (!waiter_.wait(deadline, confirmed)) {
        if (lost) {
            throw PeerLost(*lost);
        }
        return false;
    }
    door_.stop();
    for (Shared& link : door_.arrivals()) {
        links_.push_back(std::move(link));
    }
    for (const Shared& link : links_) {
        if (link->out && link->out->has(1, 0)) {
            link->out->show(Descriptor::make(Descriptor::kEnd, 0, false), 0, false);
        }
        if (link->in) {
            link->in->give_back(link->free);
            link->in->close();
        }
        link->ring();
    }
    if (lost) {
        throw PeerLost(*lost);
    }
    return true;
}

bool Local::has_all(const Shared& link) {
    try {
        return !link->out || link->out->unconfirmed() == 0;
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    }
}

}  // namespace nodewise::transport
