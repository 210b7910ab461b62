// SPDX-License-Identifier: BSD-3-Clause
#include "transport/door.h"

#include <pthread.h>
#include <signal.h>

namespace nodewise::transport {

Door::Door(const Options& options, const Bell& bell) : options_(options), bell_(bell) {}

std::vector<std::shared_ptr<Link>> Door::take() {
    const std::scoped_lock lock(mutex_);
    if (problem_) {
        const Error problem = *problem_;
        if (problem.status() != NWT_REFUSED) {
            problem_.reset();
        }
        throw problem;
    }
    news_.store(false, std::memory_order_relaxed);
    return std::exchange(arrived_, {});
}

std::vector<std::shared_ptr<Link>> Door::arrivals() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(arrived_, {});
}

void Door::check_pattern(std::int32_t theirs) const {
    if (!fits(options_.pattern, theirs)) {
        throw Error(NWT_REFUSED, std::string("a ") + name_of(options_.pattern) + " endpoint does not fit a " +
                                     name_of(theirs) + " endpoint");
    }
}

void Door::arrive(std::shared_ptr<Link> link) {
    {
        const std::scoped_lock lock(mutex_);
        arrived_.push_back(std::move(link));
    }
    tell();
}

void Door::report(const Error& problem) {
    if (problem.status() != NWT_REFUSED && problem.status() != NWT_SYSTEM) {
        return;  // it has gone: it is tried again
    }
    if (problem.status() == NWT_REFUSED) {
        refused_.store(true, std::memory_order_relaxed);
    }
    {
        const std::scoped_lock lock(mutex_);
        problem_ = problem;
    }
    tell();
}

std::thread quiet_thread(const std::function<void()>& run) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
    try {
        std::thread thread(run);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (const std::system_error& problem) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        fail_system("no thread for an endpoint", problem.code().value());
    }
}

}  // namespace nodewise::transport
