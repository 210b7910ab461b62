// SPDX-License-Identifier: BSD-3-Clause
// What each call of transport.h promises, asked of two endpoints in one process: calls NAME [ADDRESS]. Ends with 0, or
// says which line did not hold.
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

namespace {

#define HOLDS(what)                                                                 \
    do {                                                                            \
        if (!(what)) {                                                              \
            std::printf("line %d: %s; last: %s\n", __LINE__, #what, nwt_explain()); \
            std::fflush(stdout);                                                    \
            std::_Exit(1);                                                          \
        }                                                                           \
    } while (false)

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

std::string given;  // where the endpoints are

std::string address(const char* scheme = "inproc") {
    return given.empty() ? std::string(scheme) + "://calls-" + std::to_string(getpid()) : given;
}

nwt_options wanted(int pattern, const std::string& where, bool bind) {
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

void send(nwt_endpoint* push, const std::string& text) {
    HOLDS(nwt_send(push, text.data(), text.size(), 5 * kSecond) == NWT_OK);
}

std::string receive(nwt_endpoint* pull, int line = __builtin_LINE()) {
    std::string text(1 << 20, '\0');
    std::uint64_t size = 0;
    const int status = nwt_receive(pull, text.data(), text.size(), &size, 5 * kSecond);
    if (status != NWT_OK) {
        std::printf("called from line %d: ", line);
    }
    HOLDS(status == NWT_OK);
    return text.substr(0, size);
}

void arguments() {
    nwt_endpoint* none = nullptr;
    nwt_options options = wanted(NWT_PULL, "", true);
    for (const char* wrong : {"", "shm", "shm:/x", "shm://", "tcp:", "://", "ofi://x"}) {
        options.address = wrong;
        HOLDS(nwt_open(&options, &none) == NWT_INVALID &&
              std::string(nwt_explain()).find("shm://NAME") != std::string::npos);
    }
    const std::string where = address();
    options.address = where.c_str();
    options.capacity = 5000;
    HOLDS(nwt_open(&options, &none) == NWT_INVALID);
    options.capacity = 0;
    options.slots = 1;
    HOLDS(nwt_open(&options, &none) == NWT_INVALID);
    options.slots = 0;
    options.pattern = 7;
    HOLDS(nwt_open(&options, &none) == NWT_INVALID);
    options.pattern = NWT_PULL;
    options.size = 4;
    HOLDS(nwt_open(&options, &none) == NWT_INVALID);
    HOLDS(nwt_open(nullptr, &none) == NWT_INVALID);
    options.size = sizeof options;
    const std::string lengthy = "shm://" + std::string(200, 'x');
    options.address = lengthy.c_str();
    HOLDS(nwt_open(&options, &none) == NWT_INVALID && none == nullptr);
    Pair pair;
    std::uint64_t size = 0;
    char byte = 0;
    HOLDS(nwt_send(pair.pull, "x", 1, 0) == NWT_INVALID);
    HOLDS(nwt_receive(pair.push, &byte, 1, &size, 0) == NWT_INVALID);
    HOLDS(nwt_send(pair.push, &byte, NWT_MAX_SIZE + 1, 0) == NWT_INVALID);
    HOLDS(nwt_send(pair.push, nullptr, 1, 0) == NWT_INVALID && nwt_send(nullptr, "x", 1, 0) == NWT_INVALID);
    HOLDS(nwt_send_loan(pair.push) == NWT_INVALID && nwt_drop_loan(pair.push) == NWT_INVALID);
    pair.close();
}

void timeouts() {
    Pair pair(address(), true, 4096, 4);
    char buffer[8];
    std::uint64_t size = 0;
    HOLDS(nwt_receive(pair.pull, buffer, 8, &size, 0) == NWT_TIMED_OUT);
    std::int64_t began = now();
    HOLDS(nwt_receive(pair.pull, buffer, 8, &size, kSecond / 5) == NWT_TIMED_OUT);
    HOLDS(now() - began >= kSecond / 5 && now() - began < kSecond);
    // bounded: so many as there are slots, and no more
    for (int i = 0; i < 4; ++i) {
        HOLDS(nwt_send(pair.push, "1234", 4, 0) == NWT_OK);
    }
    HOLDS(nwt_send(pair.push, "late", 4, 0) == NWT_TIMED_OUT);
    began = now();
    HOLDS(nwt_send(pair.push, "late", 4, kSecond / 5) == NWT_TIMED_OUT && now() - began >= kSecond / 5);
    HOLDS(nwt_close(pair.push, kSecond / 10) == NWT_TIMED_OUT);  // it stays open
    HOLDS(nwt_peek(pair.pull, &size, kSecond) == NWT_OK && size == 4);
    HOLDS(nwt_receive(pair.pull, buffer, 3, &size, 0) == NWT_TOO_SMALL && size == 4);
    for (int i = 0; i < 4; ++i) {
        HOLDS(nwt_receive(pair.pull, buffer, 8, &size, kSecond) == NWT_OK && size == 4 &&
              std::memcmp(buffer, "1234", 4) == 0);
    }
    HOLDS(nwt_receive(pair.pull, buffer, 8, &size, 0) == NWT_TIMED_OUT);
    pair.close();
    // nobody there
    nwt_endpoint* alone = nullptr;
    const std::string where = address();
    const nwt_options options = wanted(NWT_PUSH, where, false);
    HOLDS(nwt_open(&options, &alone) == NWT_OK && nwt_send(alone, "x", 1, kSecond / 10) == NWT_TIMED_OUT);
    HOLDS(nwt_close(alone, 0) == NWT_OK);
}

void loans() {
    Pair pair(address(), false, 1 << 16, 64);
    void* data = nullptr;
    HOLDS(nwt_loan(pair.push, 1 << 16, &data, kSecond) == NWT_OK);
    HOLDS(nwt_loan(pair.push, 8, &data, kSecond) == NWT_INVALID && nwt_send(pair.push, "x", 1, 0) == NWT_INVALID);
    HOLDS(nwt_close(pair.push, 0) == NWT_INVALID);
    std::memset(data, 7, 1 << 16);
    HOLDS(nwt_send_loan(pair.push) == NWT_OK);
    HOLDS(nwt_loan(pair.push, 8, &data, 0) == NWT_TIMED_OUT);
    nwt_view view{};
    HOLDS(nwt_receive_loan(pair.pull, &view, kSecond) == NWT_OK && view.size == 1 << 16);
    HOLDS(static_cast<const char*>(view.data)[65535] == 7);
    HOLDS(nwt_loan(pair.push, 8, &data, 0) == NWT_TIMED_OUT);  // its room is out as a view
    HOLDS(nwt_close(pair.pull, 0) == NWT_INVALID);
    HOLDS(nwt_give_back(pair.pull, &view) == NWT_OK && nwt_give_back(pair.pull, &view) == NWT_INVALID);
    HOLDS(nwt_loan(pair.push, 8, &data, kSecond) == NWT_OK && nwt_drop_loan(pair.push) == NWT_OK);
    HOLDS(nwt_loan(pair.push, (1 << 16) + 1, &data, 0) == NWT_INVALID);
    // views in any order, copies between them, and a message in pieces read where it lies
    const std::string lengthy(40000, 'l');
    send(pair.push, "first");
    send(pair.push, "second");
    send(pair.push, "third");
    send(pair.push, lengthy);
    nwt_view views[3];
    HOLDS(nwt_receive_loan(pair.pull, &views[0], kSecond) == NWT_OK);
    HOLDS(receive(pair.pull) == "second");
    HOLDS(nwt_receive_loan(pair.pull, &views[1], kSecond) == NWT_OK);
    HOLDS(nwt_receive_loan(pair.pull, &views[2], kSecond) == NWT_OK && views[2].size == lengthy.size());
    HOLDS(std::memcmp(views[2].data, lengthy.data(), lengthy.size()) == 0);
    HOLDS(nwt_give_back(pair.pull, &views[1]) == NWT_OK && std::memcmp(views[0].data, "first", 5) == 0);
    HOLDS(nwt_give_back(pair.pull, &views[2]) == NWT_OK && nwt_give_back(pair.pull, &views[0]) == NWT_OK);
    // one that is longer than the ring arrives as a view, too; with a view out it says what is in its way
    send(pair.push, "in the way");
    std::thread sending([&] { send(pair.push, std::string(300000, 'x')); });
    HOLDS(nwt_receive_loan(pair.pull, &views[0], kSecond) == NWT_OK);
    std::uint64_t size = 0;
    HOLDS(nwt_peek(pair.pull, &size, kSecond) == NWT_OK && size == 300000);
    HOLDS(nwt_receive_loan(pair.pull, &views[1], kSecond) == NWT_INVALID);
    HOLDS(nwt_give_back(pair.pull, &views[0]) == NWT_OK);
    HOLDS(nwt_receive_loan(pair.pull, &views[1], kSecond) == NWT_OK && views[1].size == 300000);
    HOLDS(static_cast<const char*>(views[1].data)[299999] == 'x');
    sending.join();
    // a view outlives its sender
    send(pair.push, "kept");
    HOLDS(nwt_receive_loan(pair.pull, &views[2], kSecond) == NWT_OK);
    nwt_abort(pair.push);
    HOLDS(nwt_peek(pair.pull, &size, kSecond) == NWT_PEER_LOST);
    HOLDS(nwt_peek(pair.pull, &size, kSecond / 10) == NWT_TIMED_OUT);  // it is told once
    HOLDS(std::memcmp(views[2].data, "kept", 4) == 0);
    HOLDS(nwt_give_back(pair.pull, &views[1]) == NWT_OK && nwt_give_back(pair.pull, &views[2]) == NWT_OK);
    HOLDS(nwt_close(pair.pull, 0) == NWT_OK);
}

// Close comes back when the last message has been received, not before; nothing is lost.
void closing() {
    Pair pair;
    send(pair.push, "last");
    std::int64_t received = 0;
    std::thread receiving([&] {
        usleep(300'000);
        received = now();
        HOLDS(receive(pair.pull) == "last");
        std::uint64_t size = 0;
        HOLDS(nwt_peek(pair.pull, &size, kSecond / 10) == NWT_TIMED_OUT);  // it went well: no loss
        HOLDS(nwt_close(pair.pull, 0) == NWT_OK);
    });
    HOLDS(nwt_close(pair.push, 5 * kSecond) == NWT_OK);
    const std::int64_t closed = now();
    receiving.join();
    HOLDS(closed >= received);
    // who closes with messages unread is told on; so many
    Pair other;
    send(other.push, "1");
    send(other.push, "2");
    send(other.push, "3");
    HOLDS(receive(other.pull) == "1");
    HOLDS(nwt_close(other.pull, 0) == NWT_OK);
    HOLDS(nwt_close(other.push, kSecond) == NWT_PEER_LOST);
    Pair third;
    send(third.push, "1");
    nwt_abort(third.pull);
    HOLDS(nwt_wait_peers(third.push, 2, kSecond) == NWT_PEER_LOST);
    nwt_loss loss{};
    HOLDS(nwt_last_loss(third.push, &loss) == NWT_OK && loss.messages == 1 && loss.pid == getpid());
    HOLDS(nwt_close(third.push, 0) == NWT_OK);
}

// Of several that pull each gets its turn; who comes later is let in.
void turns() {
    Pair pair(address(), true);
    nwt_endpoint* second = nullptr;
    const std::string where = address();
    const nwt_options options = wanted(NWT_PULL, where, false);
    HOLDS(nwt_open(&options, &second) == NWT_OK && nwt_wait_peers(pair.push, 2, kSecond) == NWT_OK);
    for (int i = 0; i < 4; ++i) {
        send(pair.push, std::to_string(i));
    }
    const std::string first = receive(pair.pull);
    HOLDS(receive(second) == (first == "0" ? "1" : "0"));
    HOLDS(receive(pair.pull) == (first == "0" ? "2" : "3"));
    HOLDS(receive(second) == (first == "0" ? "3" : "2"));
    pair.close();
    HOLDS(nwt_close(second, 0) == NWT_OK);
}

void forks() {
    Pair pair(address("shm"));
    const pid_t child = fork();
    if (child == 0) {
        std::uint64_t size = 0;
        const bool refused = nwt_send(pair.push, "x", 1, 0) == NWT_FORKED &&
                             nwt_peek(pair.pull, &size, 0) == NWT_FORKED && nwt_close(pair.push, 0) == NWT_FORKED &&
                             nwt_close(pair.pull, 0) == NWT_FORKED;
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    send(pair.push, "still there");
    HOLDS(receive(pair.pull) == "still there");
    pair.close();
}

// A sleeper takes no processor, and wakes at once.
void sleeping() {
    Pair pair(address("shm"));
    std::int64_t woken = 0;
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    std::thread receiving([&] {
        HOLDS(receive(pair.pull) == "wake");
        woken = now();
    });
    usleep(1'000'000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const std::int64_t sent = now();
    send(pair.push, "wake");
    receiving.join();
    HOLDS((after.tv_sec - before.tv_sec) * kSecond + after.tv_nsec - before.tv_nsec < kSecond / 5);
    HOLDS(woken - sent < kSecond / 20);  // a wake-up that was lost takes a tenth
    pair.close();
}

int stop(void* context) { return ++*static_cast<int*>(context) > 2 ? 1 : 0; }

void interrupts() {
    for (const int waiting : {NWT_BLOCK, NWT_SPIN}) {
        int asked = 0;
        const std::string where = address();
        nwt_options options = wanted(NWT_PULL, where, true);
        options.waiting = waiting;
        options.interrupted = stop;
        options.context = &asked;
        nwt_endpoint* pull = nullptr;
        HOLDS(nwt_open(&options, &pull) == NWT_OK);
        std::uint64_t size = 0;
        HOLDS(nwt_peek(pull, &size, NWT_FOREVER) == NWT_INTERRUPTED && asked == 3);
        HOLDS(nwt_close(pull, 0) == NWT_OK);
    }
}

std::size_t open_files() {
    std::size_t count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count;
}

std::size_t segments() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
        count += line.find("memfd:") != std::string::npos ? 1 : 0;
    }
    return count;
}

std::uint64_t resident_bytes() {
    std::ifstream status("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    status >> all >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t rounds = 300;  // of opening and closing

void leaks() {
    const std::size_t files = open_files();
    const std::uint64_t resident = resident_bytes();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        Pair pair(given.empty() ? address(i % 2 == 0 ? "shm" : "inproc") : given, i % 3 == 0, 4096, 16);
        send(pair.push, "x");
        HOLDS(receive(pair.pull) == "x");
        if (i % 5 == 0) {
            nwt_abort(pair.push);
            nwt_abort(pair.pull);
        } else {
            pair.close();
        }
    }
    HOLDS(open_files() == files && segments() == 0);
    HOLDS(resident_bytes() < resident + (std::uint64_t{24} << 20));
}

nwt_endpoint* opened(int pattern, const std::string& where, bool bind, std::uint32_t slots = 0, int full = NWT_DROP) {
    nwt_options options = wanted(pattern, where, bind);
    options.slots = slots;
    options.full = full;
    nwt_endpoint* endpoint = nullptr;
    HOLDS(nwt_open(&options, &endpoint) == NWT_OK);
    return endpoint;
}

void close_all(std::initializer_list<nwt_endpoint*> endpoints) {
    for (nwt_endpoint* endpoint : endpoints) {
        HOLDS(nwt_close(endpoint, 5 * kSecond) == NWT_OK);
    }
}

std::vector<std::uint64_t> sizes_of(nwt_endpoint* endpoint) {
    const std::uint64_t* sizes = nullptr;
    std::uint32_t count = 0;
    HOLDS(nwt_parts(endpoint, &sizes, &count) == NWT_OK);
    return {sizes, sizes + count};
}

// Of many parts, some of them empty; as a copy and as a view; in one piece and in many.
void parts() {
    Pair pair(address(), false, 1 << 16);
    const std::string lengthy(100000, 'p');
    const nwt_part all[] = {{"head", 4}, {nullptr, 0}, {lengthy.data(), lengthy.size()}, {"tail", 4}, {"", 0}};
    HOLDS(nwt_send_parts(pair.push, all, 0, 0) == NWT_INVALID);
    std::thread sending([&] {
        HOLDS(nwt_send_parts(pair.push, all, 5, 5 * kSecond) == NWT_OK);
        HOLDS(nwt_send_parts(pair.push, all, 2, 5 * kSecond) == NWT_OK);
        send(pair.push, "plain");
        HOLDS(nwt_send_parts(pair.push, all, 1, 5 * kSecond) == NWT_OK);
    });
    std::uint64_t size = 0;
    HOLDS(nwt_peek(pair.pull, &size, kSecond) == NWT_OK && size == lengthy.size() + 8);
    HOLDS((sizes_of(pair.pull) == std::vector<std::uint64_t>{4, 0, 100000, 4, 0}));
    HOLDS(receive(pair.pull) == "head" + lengthy + "tail");
    HOLDS((sizes_of(pair.pull) == std::vector<std::uint64_t>{4, 0, 100000, 4, 0}));
    nwt_view view{};
    HOLDS(nwt_receive_loan(pair.pull, &view, kSecond) == NWT_OK && view.size == 4);
    HOLDS(std::memcmp(view.data, "head", 4) == 0 && (sizes_of(pair.pull) == std::vector<std::uint64_t>{4, 0}));
    HOLDS(receive(pair.pull) == "plain" && (sizes_of(pair.pull) == std::vector<std::uint64_t>{5}));
    HOLDS(receive(pair.pull) == "head" && (sizes_of(pair.pull) == std::vector<std::uint64_t>{4}));
    HOLDS(nwt_give_back(pair.pull, &view) == NWT_OK);
    sending.join();
    std::vector<nwt_part> many(NWT_MAX_PARTS, {"12", 2});
    HOLDS(nwt_send_parts(pair.push, many.data(), NWT_MAX_PARTS + 1, 0) == NWT_INVALID);
    HOLDS(nwt_send_parts(pair.push, many.data(), 512, kSecond) == NWT_OK);
    HOLDS(receive(pair.pull).size() == 1024 && sizes_of(pair.pull).size() == 512);
    pair.close();
}

// Each hears what it has subscribed to, whoever binds and whenever it came.
void publishing() {
    for (const bool binds : {true, false}) {
        nwt_endpoint* publisher = opened(NWT_PUBLISH, address(), binds);
        HOLDS(nwt_send(publisher, "nobody", 6, 0) == NWT_OK);
        nwt_endpoint* first = opened(NWT_SUBSCRIBE, address(), !binds);
        HOLDS(nwt_subscribe(first, "a.", 2) == NWT_OK && nwt_subscribe(first, "b", 1) == NWT_OK);
        std::thread listening([&] {
            std::uint64_t size = 0;
            HOLDS(nwt_peek(first, &size, 3 * kSecond) == NWT_OK);
        });
        HOLDS(nwt_wait_peers(publisher, 1, 5 * kSecond) == NWT_OK);
        nwt_endpoint* second = nullptr;
        if (binds) {
            second = opened(NWT_SUBSCRIBE, address(), false);
            HOLDS(nwt_subscribe(second, nullptr, 0) == NWT_OK && nwt_wait_peers(second, 1, 5 * kSecond) == NWT_OK);
            HOLDS(nwt_subscribe(second, "x", 1) == NWT_OK && nwt_unsubscribe(second, "x", 1) == NWT_OK);
            HOLDS(nwt_unsubscribe(second, "y", 1) == NWT_INVALID);
            HOLDS(nwt_wait_peers(publisher, 2, 5 * kSecond) == NWT_OK);
        }
        usleep(100'000);  // both of its subscriptions have come
        send(publisher, "c: to none, or one that hears all");
        const nwt_part two[] = {{"a.1", 3}, {"rest", 4}};
        HOLDS(nwt_send_parts(publisher, two, 2, 5 * kSecond) == NWT_OK);
        void* data = nullptr;
        HOLDS(nwt_loan(publisher, 5, &data, 5 * kSecond) == NWT_OK);
        std::memcpy(data, "b:two", 5);
        HOLDS(nwt_send_loan(publisher) == NWT_OK);
        listening.join();
        HOLDS(receive(first) == "a.1rest" && sizes_of(first).size() == 2 && receive(first) == "b:two");
        std::uint64_t size = 0;
        HOLDS(nwt_peek(first, &size, kSecond / 10) == NWT_TIMED_OUT);
        HOLDS(nwt_send(first, "x", 1, 0) == NWT_INVALID && nwt_peek(publisher, &size, 0) == NWT_INVALID);
        if (binds) {
            HOLDS(receive(second).starts_with("c: ") && receive(second) == "a.1rest" && receive(second) == "b:two");
        }
        // no longer
        HOLDS(nwt_unsubscribe(first, "b", 1) == NWT_OK);
        std::uint64_t left_out = 1;
        for (int i = 0; i < 100 && nwt_wait_peers(publisher, 2, 0) == NWT_OK; ++i) {
            usleep(1000);
        }
        usleep(100'000);
        send(publisher, "b: gone");
        send(publisher, "a.");
        HOLDS(receive(first) == "a." && nwt_count(first, &left_out) == NWT_OK && left_out == 0);
        if (binds) {
            HOLDS(receive(second) == "b: gone" && receive(second) == "a.");
            close_all({second});
        }
        close_all({publisher, first});
    }
}

// A subscriber that is too slow is left out, which both sides count; or it is waited for.
void slow_subscribers() {
    for (const int full : {NWT_DROP, NWT_WAIT}) {
        nwt_endpoint* publisher = opened(NWT_PUBLISH, address(), true, 8, full);
        nwt_endpoint* slow = opened(NWT_SUBSCRIBE, address(), false);
        HOLDS(nwt_subscribe(slow, "", 0) == NWT_OK && nwt_wait_peers(slow, 1, 5 * kSecond) == NWT_OK);
        HOLDS(nwt_subscribe(slow, "n", 1) == NWT_OK);
        HOLDS(nwt_wait_peers(publisher, 1, 5 * kSecond) == NWT_OK);
        int accepted = 0;
        for (int i = 0; i < 20; ++i) {
            const int status = nwt_send(publisher, &i, sizeof i, 0);
            HOLDS(status == NWT_OK || (full == NWT_WAIT && status == NWT_TIMED_OUT));
            accepted += status == NWT_OK ? 1 : 0;
        }
        HOLDS(accepted == (full == NWT_DROP ? 20 : 8));
        std::uint64_t left_out = 0;
        HOLDS(nwt_count(publisher, &left_out) == NWT_OK && left_out == (full == NWT_DROP ? 12 : 0));
        int number = -1;
        std::uint64_t size = 0;
        for (int i = 0; i < 8; ++i) {
            HOLDS(nwt_receive(slow, &number, sizeof number, &size, 5 * kSecond) == NWT_OK && number == i);
        }
        HOLDS(nwt_receive(slow, &number, sizeof number, &size, kSecond / 10) == NWT_TIMED_OUT);
        number = 99;
        HOLDS(nwt_send(publisher, &number, sizeof number, 5 * kSecond) == NWT_OK);
        HOLDS(nwt_receive(slow, &number, sizeof number, &size, 5 * kSecond) == NWT_OK && number == 99);
        HOLDS(nwt_count(slow, &left_out) == NWT_OK && left_out == (full == NWT_DROP ? 12 : 0));
        const std::string lengthy(3 << 20, 'l');
        if (full == NWT_DROP) {
            HOLDS(nwt_send(publisher, lengthy.data(), lengthy.size(), 0) == NWT_INVALID);
        }
        close_all({publisher, slow});
    }
}

// Requests and their replies belong together, also where one is given up; whoever has no request has no reply.
void requests() {
    nwt_endpoint* server = opened(NWT_REPLY, address(), true);
    nwt_endpoint* client = opened(NWT_REQUEST, address(), false);
    nwt_endpoint* other = opened(NWT_REQUEST, address(), false);
    HOLDS(nwt_wait_peers(server, 2, 5 * kSecond) == NWT_OK && nwt_wait_peers(client, 1, 5 * kSecond) == NWT_OK);
    std::uint64_t size = 0;
    HOLDS(nwt_peek(client, &size, 0) == NWT_INVALID && nwt_send(server, "x", 1, 0) == NWT_INVALID);
    send(client, "one");
    HOLDS(receive(server) == "one");
    send(other, "two");
    HOLDS(nwt_peek(client, &size, kSecond / 20) == NWT_TIMED_OUT);
    send(server, "ONE");
    HOLDS(receive(client) == "ONE" && nwt_peek(client, &size, 0) == NWT_INVALID);
    HOLDS(receive(server) == "two");
    // it is given up, and its reply comes too late
    send(other, "three");
    send(server, "TWO");
    HOLDS(receive(server) == "three");
    void* data = nullptr;
    HOLDS(nwt_loan(server, 5, &data, 5 * kSecond) == NWT_OK);
    std::memcpy(data, "THREE", 5);
    HOLDS(nwt_send_loan(server) == NWT_OK && nwt_send(server, "again", 5, 0) == NWT_INVALID);
    HOLDS(receive(other) == "THREE");
    // by loan, in parts, long
    HOLDS(nwt_loan(client, 4, &data, 5 * kSecond) == NWT_OK);
    std::memcpy(data, "four", 4);
    HOLDS(nwt_send_loan(client) == NWT_OK && receive(server) == "four");
    const std::string lengthy(900000, 'r');
    const nwt_part two[] = {{"4", 1}, {lengthy.data(), lengthy.size()}};
    HOLDS(nwt_send_parts(server, two, 2, 5 * kSecond) == NWT_OK);
    nwt_view view{};
    HOLDS(nwt_receive_loan(client, &view, 5 * kSecond) == NWT_OK && view.size == 900001 &&
          sizes_of(client).size() == 2);
    HOLDS(static_cast<const char*>(view.data)[900000] == 'r' && nwt_give_back(client, &view) == NWT_OK);
    // the server goes and has not replied
    send(client, "five");
    HOLDS(receive(server) == "five");
    send(other, "six");
    HOLDS(nwt_close(server, 5 * kSecond) == NWT_OK);
    HOLDS(nwt_peek(client, &size, 5 * kSecond) == NWT_PEER_LOST &&
          nwt_peek(other, &size, 5 * kSecond) == NWT_PEER_LOST);
    HOLDS(nwt_peek(client, &size, kSecond) == NWT_INVALID);
    // another one takes its place
    server = opened(NWT_REPLY, address(), true);
    send(client, "seven");
    HOLDS(receive(server) == "seven");
    send(server, "SEVEN");
    HOLDS(receive(client) == "SEVEN");
    // who asked is gone
    send(client, "eight");
    HOLDS(receive(server) == "eight");
    nwt_abort(client);
    HOLDS(nwt_peek(server, &size, 5 * kSecond) == NWT_PEER_LOST && nwt_send(server, "x", 1, 0) == NWT_INVALID);
    close_all({other, server});
}

bool readable(int descriptor, int milliseconds) {
    pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
    return poll(&watched, 1, milliseconds) == 1;
}

// Several endpoints are waited for at once, by nwt_poll and by a descriptor.
void polling() {
    Pair pair(address(), false, 4096, 4);
    nwt_endpoint* server = opened(NWT_REPLY, "inproc://polling", true);
    nwt_endpoint* client = opened(NWT_REQUEST, "inproc://polling", false);
    nwt_item items[] = {{pair.pull, NWT_READABLE, 0}, {server, NWT_READABLE, 0}};
    std::uint32_t ready = 9;
    HOLDS(nwt_poll(items, 2, 0, &ready) == NWT_TIMED_OUT && ready == 0);
    const std::int64_t began = now();
    HOLDS(nwt_poll(items, 2, kSecond / 5, &ready) == NWT_TIMED_OUT && now() - began >= kSecond / 5);
    std::thread later([&] {
        usleep(200'000);
        send(client, "hello");
    });
    HOLDS(nwt_poll(items, 2, 5 * kSecond, &ready) == NWT_OK && ready == 1 && items[1].ready == NWT_READABLE);
    later.join();
    HOLDS(items[0].ready == 0 && receive(server) == "hello");
    std::thread pushing([&] {
        usleep(100'000);
        send(pair.push, "there");
    });
    HOLDS(nwt_poll(items, 2, 5 * kSecond, &ready) == NWT_OK && items[0].ready == NWT_READABLE);
    pushing.join();
    HOLDS(receive(pair.pull) == "there");
    // room is waited for, too
    for (int i = 0; i < 4; ++i) {
        send(pair.push, "fill");
    }
    nwt_item room{pair.push, NWT_WRITABLE | NWT_READABLE, 0};
    HOLDS(nwt_poll(&room, 1, kSecond / 10, &ready) == NWT_TIMED_OUT);
    std::thread reading([&] {
        usleep(100'000);
        for (int i = 0; i < 4; ++i) {
            HOLDS(receive(pair.pull) == "fill");
        }
        std::uint64_t size = 0;
        HOLDS(nwt_peek(pair.pull, &size, 0) == NWT_TIMED_OUT);
    });
    HOLDS(nwt_poll(&room, 1, 5 * kSecond, &ready) == NWT_OK && room.ready == NWT_WRITABLE);
    reading.join();
    // the descriptor: readable while there is something to do, until a look has found nothing
    int descriptor = -1;
    char buffer[8];
    std::uint64_t size = 0;
    HOLDS(nwt_descriptor(pair.pull, &descriptor) == NWT_OK);
    HOLDS(nwt_receive(pair.pull, buffer, 8, &size, 0) == NWT_TIMED_OUT && !readable(descriptor, 50));
    send(pair.push, "1");
    send(pair.push, "2");
    HOLDS(readable(descriptor, 1000) && receive(pair.pull) == "1" && readable(descriptor, 0));
    HOLDS(receive(pair.pull) == "2" && nwt_receive(pair.pull, buffer, 8, &size, 0) == NWT_TIMED_OUT);
    HOLDS(!readable(descriptor, 50));
    nwt_abort(pair.push);
    HOLDS(readable(descriptor, 1000));
    nwt_item lost{pair.pull, NWT_READABLE, 0};
    HOLDS(nwt_poll(&lost, 1, kSecond, &ready) == NWT_OK && nwt_peek(pair.pull, &size, 5 * kSecond) == NWT_PEER_LOST);
    close_all({pair.pull, client});
    nwt_abort(server);
}

// Who was built with the first transport.h has shorter options; and what an endpoint says of where it is.
void versions() {
    const std::string where = address();
    nwt_options options = wanted(NWT_PULL, where, true);
    options.size = offsetof(nwt_options, full);
    nwt_endpoint* pull = nullptr;
    HOLDS(nwt_open(&options, &pull) == NWT_OK);
    char text[64];
    HOLDS(nwt_address(pull, text, sizeof text) == NWT_OK && where == text &&
          nwt_address(pull, text, 5) == NWT_TOO_SMALL);
    close_all({pull});
}

// More messages than one would lose by chance, each once and in order.
void many() {
    Pair pair(address(), false, 1 << 16, 256);
    std::thread sending([&] {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t message[] = {i, i * 0x9e3779b97f4a7c15U};
            HOLDS(nwt_send(pair.push, message, sizeof message, 10 * kSecond) == NWT_OK);
        }
    });
    for (std::uint64_t i = 0; i < rounds; ++i) {
        std::uint64_t message[2] = {};
        std::uint64_t size = 0;
        HOLDS(nwt_receive(pair.pull, message, sizeof message, &size, 10 * kSecond) == NWT_OK && size == 16);
        HOLDS(message[0] == i && message[1] == i * 0x9e3779b97f4a7c15U);
    }
    sending.join();
    pair.close();
}

// As many bytes as fit a message, more than the ring holds many times.
void huge() {
    Pair pair(address("shm"));
    std::vector<std::uint64_t> from(NWT_MAX_SIZE / 8);
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = i * 0x9e3779b97f4a7c15U;
    }
    std::thread sending([&] { HOLDS(nwt_send(pair.push, from.data(), NWT_MAX_SIZE, NWT_FOREVER) == NWT_OK); });
    std::vector<std::uint64_t> to(from.size());
    std::uint64_t size = 0;
    HOLDS(nwt_receive(pair.pull, to.data(), NWT_MAX_SIZE, &size, NWT_FOREVER) == NWT_OK && size == NWT_MAX_SIZE);
    sending.join();
    HOLDS(from == to);
    pair.close();
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, void (*)()> all{{"arguments", arguments},
                                                {"timeouts", timeouts},
                                                {"loans", loans},
                                                {"closing", closing},
                                                {"turns", turns},
                                                {"forks", forks},
                                                {"sleeping", sleeping},
                                                {"interrupts", interrupts},
                                                {"leaks", leaks},
                                                {"huge", huge},
                                                {"parts", parts},
                                                {"publishing", publishing},
                                                {"requests", requests},
                                                {"polling", polling},
                                                {"versions", versions},
                                                {"slow_subscribers", slow_subscribers},
                                                {"many", many}};
    if (argc < 2 || !all.contains(argv[1])) {
        return 98;
    }
    given = argc > 2 ? argv[2] : "";
    rounds = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : rounds;
    all.at(argv[1])();
}
