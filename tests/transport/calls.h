// SPDX-License-Identifier: BSD-3-Clause
// What the programs that ask endpoints share.
#pragma once

#include <dirent.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "transport/transport.h"

#define HOLDS(what)                                                                 \
    do {                                                                            \
        if (!(what)) {                                                              \
            std::printf("line %d: %s; last: %s\n", __LINE__, #what, nwt_explain()); \
            std::fflush(stdout);                                                    \
            std::_Exit(1);                                                          \
        }                                                                           \
    } while (false)

inline constexpr std::int64_t kSecond = 1'000'000'000;

inline std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

inline std::string given;  // where the endpoints are

inline std::string address(const char* scheme = "inproc") {
    return given.empty() ? std::string(scheme) + "://calls-" + std::to_string(getpid()) : given;
}

inline nwt_options wanted(int pattern, const std::string& where, bool bind) {
    nwt_options options{};
    options.size = sizeof options;
    options.pattern = pattern;
    options.address = where.c_str();
    options.bind = bind ? 1 : 0;
    return options;
}

struct Pair {
    nwt_endpoint* push = nullptr;
    nwt_endpoint* pull = nullptr;
    explicit Pair(const std::string& where = address(), bool push_binds = false, std::uint64_t capacity = 0,
                  std::uint32_t slots = 0) {
        nwt_options out = wanted(NWT_PUSH, where, push_binds);
        nwt_options in = wanted(NWT_PULL, where, !push_binds);
        out.capacity = capacity;
        out.slots = slots;
        HOLDS(nwt_open(push_binds ? &out : &in, push_binds ? &push : &pull) == NWT_OK);
        HOLDS(nwt_open(push_binds ? &in : &out, push_binds ? &pull : &push) == NWT_OK);
        HOLDS(nwt_wait_peers(push, 1, 5 * kSecond) == NWT_OK && nwt_wait_peers(pull, 1, 5 * kSecond) == NWT_OK);
    }
    void close() {
        HOLDS(nwt_close(push, 5 * kSecond) == NWT_OK);
        HOLDS(nwt_close(pull, 5 * kSecond) == NWT_OK);
    }
};

inline void send(nwt_endpoint* push, const std::string& text) {
    HOLDS(nwt_send(push, text.data(), text.size(), 5 * kSecond) == NWT_OK);
}

inline std::string receive(nwt_endpoint* pull, int line = __builtin_LINE()) {
    std::string text(1 << 20, '\0');
    std::uint64_t size = 0;
    const int status = nwt_receive(pull, text.data(), text.size(), &size, 5 * kSecond);
    if (status != NWT_OK) {
        std::printf("called from line %d: ", line);
    }
    HOLDS(status == NWT_OK);
    return text.substr(0, size);
}

inline nwt_endpoint* opened(int pattern, const std::string& where, bool bind, std::uint32_t slots = 0,
                            int full = NWT_DROP) {
    nwt_options options = wanted(pattern, where, bind);
    options.slots = slots;
    options.full = full;
    nwt_endpoint* endpoint = nullptr;
    HOLDS(nwt_open(&options, &endpoint) == NWT_OK);
    return endpoint;
}

inline void close_all(std::initializer_list<nwt_endpoint*> endpoints) {
    for (nwt_endpoint* endpoint : endpoints) {
        HOLDS(nwt_close(endpoint, 5 * kSecond) == NWT_OK);
    }
}

inline std::vector<std::uint64_t> sizes_of(nwt_endpoint* endpoint) {
    const std::uint64_t* sizes = nullptr;
    std::uint32_t count = 0;
    HOLDS(nwt_parts(endpoint, &sizes, &count) == NWT_OK);
    return {sizes, sizes + count};
}

inline std::uint64_t rounds = 300;  // of opening and closing

// The calls of patterns, in a file of their own.
void parts();
void publishing();
void slow_subscribers();
void loan_to_the_slow();
void requests();
void polling();
void versions();
void many();
void crossovers();
