// SPDX-License-Identifier: BSD-3-Clause
// Publishing, requests, messages of many parts, and several endpoints at once.
#include "calls.h"

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

int stop_soon(void* context) { return ++*static_cast<int*>(context) > 2 ? 1 : 0; }

// Who waits for a subscriber's room with a loan, and is interrupted, has it still.
void loan_to_the_slow() {
    int asked = -1'000'000;  // not yet
    const std::string where = address();
    nwt_options options = wanted(NWT_PUBLISH, where, true);
    options.slots = 8;
    options.full = NWT_WAIT;
    options.interrupted = stop_soon;
    options.context = &asked;
    nwt_endpoint* publisher = nullptr;
    HOLDS(nwt_open(&options, &publisher) == NWT_OK);
    nwt_endpoint* slow = opened(NWT_SUBSCRIBE, where, false);
    HOLDS(nwt_subscribe(slow, "", 0) == NWT_OK && nwt_wait_peers(slow, 1, 5 * kSecond) == NWT_OK);
    HOLDS(nwt_wait_peers(publisher, 1, 5 * kSecond) == NWT_OK);
    int sent = 0;
    while (nwt_send(publisher, &sent, sizeof sent, kSecond / 5) == NWT_OK) {
        ++sent;
    }
    HOLDS(sent >= 8);
    void* data = nullptr;
    HOLDS(nwt_loan(publisher, 4, &data, 0) == NWT_OK);
    std::memcpy(data, "kept", 4);
    asked = 0;
    HOLDS(nwt_send_loan(publisher) == NWT_INTERRUPTED);
    HOLDS(nwt_send(publisher, "x", 1, 0) == NWT_INVALID);  // it is out
    asked = -1'000'000;
    for (int number = 0; number < sent; ++number) {
        int found = -1;
        std::uint64_t size = 0;
        HOLDS(nwt_receive(slow, &found, sizeof found, &size, 5 * kSecond) == NWT_OK && found == number);
    }
    HOLDS(nwt_send_loan(publisher) == NWT_OK && receive(slow) == "kept");
    close_all({publisher, slow});
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

// Messages of ofi+… below and above the size from which they are written into the other side's memory.
void crossovers() {
    for (const std::uint32_t from : {std::uint32_t{0}, std::uint32_t{1}, std::uint32_t{5000}, NWT_NO_RMA}) {
        const std::string where = address();
        nwt_options out = wanted(NWT_PUSH, where, false);
        out.rma_from = from;
        nwt_endpoint* pull = opened(NWT_PULL, where, true);
        nwt_endpoint* push = nullptr;
        HOLDS(nwt_open(&out, &push) == NWT_OK);
        std::thread sending([&] {
            for (const std::size_t size : {0, 1, 64, 3000, 3100, 4999, 5001, 70000, 700001}) {
                send(push, std::string(size, static_cast<char>('a' + (size % 26))));
            }
        });
        for (const std::size_t size : {0, 1, 64, 3000, 3100, 4999, 5001, 70000, 700001}) {
            HOLDS(receive(pull) == std::string(size, static_cast<char>('a' + (size % 26))));
        }
        sending.join();
        close_all({push, pull});
    }
}
