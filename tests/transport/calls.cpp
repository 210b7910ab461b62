// SPDX-License-Identifier: BSD-3-Clause
// What each call of transport.h promises, asked of two endpoints in one process: calls NAME [ADDRESS]. Ends with 0, or
// says which line did not hold.
#include "calls.h"

#include <malloc.h>

#include <algorithm>

namespace {

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
// How long after it was sent a message wakes who has slept for a second without using the processor.
std::int64_t slept(Pair& pair) {
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
    return woken - sent;
}

void sleeping() {
    Pair pair(address("shm"));
    // a wake-up that was lost takes a tenth, each time; on a busy machine any does now and then
    std::int64_t least = kSecond;
    for (int tries = 0; tries < 5 && least >= kSecond / 20; ++tries) {
        least = std::min(least, slept(pair));
    }
    HOLDS(least < kSecond / 20);
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

void open_and_close(std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) {
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
}

void leaks() {
    open_and_close(6);  // what libraries keep of their first use
    malloc_trim(0);
    const std::size_t files = open_files();
    const std::uint64_t resident = resident_bytes();
    open_and_close(rounds);
    malloc_trim(0);
    HOLDS(open_files() == files && segments() == 0);
    HOLDS(resident_bytes() < resident + (std::uint64_t{24} << 20));
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
                                                {"loan_to_the_slow", loan_to_the_slow},
                                                {"crossovers", crossovers},
                                                {"many", many}};
    if (argc < 2 || !all.contains(argv[1])) {
        return 98;
    }
    given = argc > 2 ? argv[2] : "";
    rounds = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : rounds;
    all.at(argv[1])();
}
