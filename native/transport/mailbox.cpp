// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mailbox.h"

#include <algorithm>

namespace nodewise::transport {

namespace {

// Of what was sent to it. What a peer says that writes nonsense is worth nothing.
std::uint64_t unconfirmed(Link& link) {
    try {
        return link.out ? link.out->unconfirmed() : 0;
    } catch (const Damaged&) {
        return 0;
    }
}

std::unique_ptr<Door> open_door(const Options& options, const Bell& bell) {
    if (options.scheme == "shm" || options.scheme == "inproc") {
        return open_local_door(options, bell);
    }
    return options.scheme.starts_with("ofi+") ? open_ofi_door(options, bell) : open_zeromq_door(options, bell);
}

}  // namespace

Mailbox::Mailbox(const Options& options)
    : waiter_(options.spin, options.interrupted, options.context),
      options_(options),
      piece_(Shape{.capacity = options.capacity, .slots = options.slots}.piece()),
      door_(open_door(options, waiter_.bell())) {}

Mailbox::~Mailbox() {
    if (door_) {
        door_->shut();  // else it would go to look for who is left here
    }
    for (const Shared& link : links_) {
        link->part();
    }
}

std::unique_ptr<Endpoint> open_endpoint(const Options& options) { return std::make_unique<Mailbox>(options); }

void Mailbox::forget() {
    // what joins us to others stays the parent's: closed here, not shut down
    links_.clear();
    door_->forget();
}

void Mailbox::attend_news() {
    if (failed_) {
        std::rethrow_exception(std::exchange(failed_, nullptr));
    }
    // a door that is refused stays so: whoever has gone meanwhile is told first, as nobody would be told otherwise
    std::exception_ptr refused;
    try {
        for (Shared& link : door_->take()) {
            topics_.for_each(
                [&](const std::string& prefix) { link->changes.push_back({.prefix = prefix, .wanted = true}); });
            links_.push_back(std::move(link));
        }
    } catch (const Error&) {
        refused = std::current_exception();
    }
    for (const Shared& link : std::vector<Shared>(links_)) {
        if (!link->gone.load(std::memory_order_acquire)) {
            continue;
        }
        try {
            settle(link);
        } catch (...) {
            door_->tell();  // of others that are gone, too
            throw;
        }
    }
    if (refused) {
        std::rethrow_exception(refused);
    }
}

// Of a peer that is gone: whether nothing of it is left to be read. Throws where it has not taken leave.
bool Mailbox::settle(const Shared& link) {
    const std::string why = link->why.empty() ? "it has died" : link->why;
    if (link->in) {
        if (options_.pattern == NWT_PUBLISH) {
            hear_topics(link);
        }
        Descriptor left;
        const bool more = link->in->next(left);
        if (more && left.kind() != Descriptor::kEnd) {
            return false;
        }
        if (!more) {
            lose(link, why, asked_ == link ? 1 : 0);
        }
    } else if (!link->out->reader_closed()) {
        lose(link, why);
    }
    if (asked_ == link) {
        lose(link, "it has closed and has not replied", 1);
    }
    if (options_.pattern == NWT_PUSH && unconfirmed(*link) != 0) {
        lose(link, "it has closed");
    }
    if (to_ == link) {
        lose(link, "it has closed while a loan for it was out");
    }
    part_from(link);
    return true;
}

// Ends it from this side, too.
void Mailbox::part_from(const Shared& link) {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may be a member of what is changed here
    const Shared kept = link;
    kept->part();
    std::erase(links_, kept);
    for (Shared* role : {&from_, &to_, &asked_, &asker_}) {
        if (*role == kept) {
            role->reset();
        }
    }
    if (!kept->views.empty()) {
        parted_.push_back(kept);
    }
}

// `unanswered`: requests that it has received.
void Mailbox::lose(const Shared& link, const std::string& why, std::uint64_t unanswered) {
    const std::uint64_t messages = std::max(unconfirmed(*link), unanswered);
    const std::string who = "lost the peer, process " + std::to_string(link->pid) +
                            (link->place.empty() ? "" : " at " + link->place) + ": " + why;
    const pid_t pid = link->pid;
    part_from(link);
    throw PeerLost(messages == 0 || unanswered != 0
                       ? who
                       : who + "; " + std::to_string(messages) + " messages to it were not received",
                   pid, messages);
}

bool Mailbox::wait_peers(std::uint32_t at_least, Deadline deadline) {
    return waiter_.wait(deadline, [&] {
        attend();
        const bool publishes = options_.pattern == NWT_PUBLISH;
        return std::ranges::count_if(links_, [&](const Shared& link) { return !publishes || !link->topics.empty(); }) >=
               std::ptrdiff_t{at_least};
    });
}

// Whoever could not come is not awaited.
void Mailbox::attend_to_who_is_here() {
    try {
        attend();
    } catch (const Error& problem) {
        if (problem.status() != NWT_REFUSED && problem.status() != NWT_SYSTEM) {
            throw;
        }
    }
}

bool Mailbox::close(Deadline deadline) {
    if (to_ || staged_ || views_ != 0) {
        throw Error(NWT_INVALID, "loans are out: send, drop or give them back before closing");
    }
    asked_.reset();  // whoever closes waits for no reply
    std::unique_ptr<PeerLost> lost;
    // Of who is lost here, what it has not confirmed is told in the end; the others are still awaited.
    const auto confirmed = [&] {
        while (true) {
            try {
                attend_to_who_is_here();
                return std::ranges::all_of(std::vector<Shared>(links_),
                                           [&](const Shared& link) { return has_all(link); });
            } catch (const PeerLost& problem) {
                if (problem.messages() != 0 && !lost) {
                    lost = std::make_unique<PeerLost>(problem);
                }
            }
        }
    };
    if (!waiter_.wait(deadline, confirmed)) {
        if (lost) {
            throw PeerLost(*lost);
        }
        return false;
    }
    take_leave();
    if (lost) {
        throw PeerLost(*lost);
    }
    return true;
}

void Mailbox::take_leave() {
    door_->shut();
    for (Shared& link : door_->arrivals()) {
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
    door_->finish();
}

// A request that is given up and a subscription that nobody needs are not waited for.
bool Mailbox::has_all(const Shared& link) {
    if (options_.pattern == NWT_REQUEST || options_.pattern == NWT_SUBSCRIBE || !link->out) {
        return true;
    }
    try {
        return link->out->unconfirmed() == 0;
    } catch (const Damaged& problem) {
        lose(link, problem.what());
    }
}

std::uint32_t Mailbox::ready(std::uint32_t wanted) {
    Deadline at_once(0);
    std::uint32_t found = 0;
    try {
        attend();
        const bool reads = options_.pattern != NWT_PUSH && options_.pattern != NWT_PUBLISH;
        if ((wanted & NWT_READABLE) != 0 && reads && (options_.pattern != NWT_REQUEST || asked_) && (from_ || look())) {
            found |= NWT_READABLE;
        }
        if ((wanted & NWT_WRITABLE) != 0 && writes(options_.pattern) && !to_ && !staged_) {
            const bool one = options_.pattern == NWT_REPLY;
            const bool any = options_.pattern == NWT_PUBLISH || (one && asker_ && has_room(asker_, 1, piece_)) ||
                             (!one && std::ranges::any_of(std::vector<Shared>(links_), [&](const Shared& link) {
                                 return has_room(link, 1, piece_);
                             }));
            found |= any ? std::uint32_t{NWT_WRITABLE} : 0U;
        }
    } catch (const std::exception&) {
        failed_ = std::current_exception();
        return wanted;
    }
    if (found == 0) {
        for (const Shared& link : links_) {
            if (link->in) {
                link->give_back(true);
            }
        }
    }
    return found;
}

int Mailbox::descriptor() {
    if (!waiter_.watched()) {
        waiter_.watch();
        waiter_.bell().show_on_event();
    }
    return waiter_.bell().event().get();
}

}  // namespace nodewise::transport
