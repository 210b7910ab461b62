// SPDX-License-Identifier: BSD-3-Clause
// One side of a pair, for the tests: sends or receives messages of random sizes and contents that both sides know from
// the seed. Ends with the status as exit code, and says what it met.
//
//   drill push|pull ADDRESS [bind=1] [spin=1] [how=copy|loan|mix] [seed=N] [count=N] [most=BYTES] [slots=N]
//   [capacity=BYTES]
//                   [tolerate=1] [timeout=SECONDS] [senders=N] [id=N] [views=N] [pause=SECONDS]
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace {

using Words = std::map<std::string, std::string>;

std::uint64_t number_of(const Words& given, const char* name, std::uint64_t otherwise) {
    const auto found = given.find(name);
    return found == given.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The messages of one sender, one after the other.
class Stream {
  public:
    Stream(std::uint64_t seed, std::uint64_t id, std::uint64_t most)
        : random_(seed * 1000 + id), most_(most), id_(id) {}
    // Sizes of all orders of magnitude, and none; 16 bytes at least where senders are to be told apart.
    std::uint64_t next_size(std::uint64_t least) {
        const std::uint64_t top = std::uint64_t{1} << (random_() % 64);
        const std::uint64_t size = random_() % 16 == 0 ? 0 : random_() % ((top < most_ ? top : most_) + 1);
        ++number_;
        word_ = random_();
        return size < least ? least : size;
    }
    void fill(std::byte* data, std::uint64_t size) const {
        for (std::uint64_t at = 0; at < size; at += 8) {
            const std::uint64_t word = at == 0 ? id_ : word_ + number_ * at;
            std::memcpy(data + at, &word, size - at < 8 ? size - at : 8);
        }
    }
    bool holds(const std::byte* data, std::uint64_t size) const {
        for (std::uint64_t at = 0; at < size; at += 8) {
            const std::uint64_t word = at == 0 ? id_ : word_ + number_ * at;
            if (std::memcmp(data + at, &word, size - at < 8 ? size - at : 8) != 0) {
                return false;
            }
        }
        return true;
    }

  private:
    std::mt19937_64 random_;
    std::uint64_t most_, id_;
    std::uint64_t number_ = 0, word_ = 0;
};

struct Side {
    nwt_endpoint* endpoint = nullptr;
    std::uint64_t seed, most, count, least;
    std::int64_t timeout;
    std::string how;
    bool tolerate;
    std::uint64_t id;
    std::uint64_t views;  // that are out at a time
    double pause;
    std::mt19937_64 coin{7};
    bool loan() { return how == "loan" || (how == "mix" && coin() % 2 == 0); }
};

[[noreturn]] void finish(int status, std::uint64_t messages) {
    std::printf("status %d\nmessages %" PRIu64 "\ntime %.6f\nsays %s\n", status, messages, now(), nwt_explain());
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf("cpu %.3f\n", static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                                  1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
    std::fflush(stdout);
    std::_Exit(status);
}

int send_one(Side& side, const Stream& stream, std::uint64_t size, std::vector<std::byte>& buffer) {
    if (!side.loan()) {
        stream.fill(buffer.data(), size);
        return nwt_send(side.endpoint, buffer.data(), size, side.timeout);
    }
    void* data = nullptr;
    if (const int status = nwt_loan(side.endpoint, size, &data, side.timeout); status != NWT_OK) {
        return status;
    }
    stream.fill(static_cast<std::byte*>(data), size);
    return nwt_send_loan(side.endpoint);
}

void push(Side& side) {
    std::vector<std::byte> buffer(side.most + 16);
    Stream stream(side.seed, side.id, side.most);
    std::uint64_t sent = 0;
    while (sent < side.count) {
        const int status = send_one(side, stream, stream.next_size(side.least), buffer);
        if (status == NWT_PEER_LOST && side.tolerate) {
            stream = Stream(side.seed, side.id, side.most);
            sent = 0;
            continue;
        }
        if (status != NWT_OK) {
            finish(status, sent);
        }
        ++sent;
    }
    finish(nwt_close(side.endpoint, side.timeout), sent);
}

[[noreturn]] void wrong(std::uint64_t number, std::uint64_t size) {
    std::printf("message %" PRIu64 " of %" PRIu64 " bytes is not the one that was sent\n", number, size);
    std::fflush(stdout);
    std::_Exit(99);
}

// One message, whose sender is told by its first word where there are several.
int receive_one(Side& side, std::vector<Stream>& streams, std::vector<std::byte>& buffer, std::vector<nwt_view>& views,
                std::uint64_t number) {
    const std::byte* data = buffer.data();
    std::uint64_t size = 0;
    int status = 0;
    nwt_view view{};
    const bool loaned = side.loan();
    if (loaned) {
        status = nwt_receive_loan(side.endpoint, &view, side.timeout);
        data = static_cast<const std::byte*>(view.data);
        size = view.size;
    } else {
        status = nwt_receive(side.endpoint, buffer.data(), buffer.size(), &size, side.timeout);
    }
    while (status == NWT_INVALID && !views.empty()) {  // its room is out as views
        for (const nwt_view& out : views) {
            if (nwt_give_back(side.endpoint, &out) != NWT_OK) {
                finish(NWT_INVALID, number);
            }
        }
        views.clear();
        return receive_one(side, streams, buffer, views, number);
    }
    if (status != NWT_OK) {
        return status;
    }
    std::uint64_t from = 0;
    if (streams.size() > 1) {
        std::memcpy(&from, data, 8);
    }
    if (from >= streams.size() || streams[from].next_size(side.least) != size || !streams[from].holds(data, size)) {
        wrong(number, size);
    }
    if (loaned) {
        views.push_back(view);
    }
    // given back late and in any order
    while (views.size() > side.views || (!views.empty() && side.coin() % 2 == 0)) {
        const std::size_t which = side.coin() % views.size();
        if (nwt_give_back(side.endpoint, &views[which]) != NWT_OK) {
            finish(NWT_INVALID, number);
        }
        views.erase(views.begin() + static_cast<std::ptrdiff_t>(which));
    }
    return NWT_OK;
}

void pull(Side& side, std::uint64_t senders) {
    std::vector<std::byte> buffer(side.most + 16);
    std::vector<nwt_view> views;
    std::vector<Stream> streams;
    for (std::uint64_t id = 0; id < senders; ++id) {
        streams.emplace_back(side.seed, id, side.most);
    }
    std::uint64_t received = 0;
    while (received < side.count) {
        const int status = receive_one(side, streams, buffer, views, received);
        if (status == NWT_PEER_LOST && side.tolerate) {
            streams = {Stream(side.seed, 0, side.most)};
            received = 0;
            continue;
        }
        if (status != NWT_OK) {
            finish(status, received);
        }
        ++received;
        if (side.pause > 0) {
            usleep(static_cast<useconds_t>(1e6 * side.pause));
        }
    }
    for (const nwt_view& view : views) {
        nwt_give_back(side.endpoint, &view);
    }
    finish(nwt_close(side.endpoint, side.timeout), received);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        return 98;
    }
    Words given;
    for (int i = 3; i < argc; ++i) {
        const std::string word = argv[i];
        given[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
    const std::string role = argv[1];
    nwt_options options{};
    options.size = sizeof options;
    options.pattern = role == "push" ? NWT_PUSH : NWT_PULL;
    options.address = argv[2];
    options.bind = static_cast<std::int32_t>(number_of(given, "bind", 0));
    options.waiting = number_of(given, "spin", 0) == 1 ? NWT_SPIN : NWT_BLOCK;
    options.slots = static_cast<std::uint32_t>(number_of(given, "slots", 0));
    options.capacity = number_of(given, "capacity", 0);
    const std::uint64_t senders = number_of(given, "senders", 1);
    Side side{.endpoint = nullptr,
              .seed = number_of(given, "seed", 1),
              .most = number_of(given, "most", 100000),
              .count = number_of(given, "count", ~std::uint64_t{0}),
              .least = senders > 1 ? 16U : 0U,
              .timeout = static_cast<std::int64_t>(
                  1e9 * std::strtod(given.contains("timeout") ? given["timeout"].c_str() : "20", nullptr)),
              .how = given.contains("how") ? given["how"] : "copy",
              .tolerate = number_of(given, "tolerate", 0) == 1,
              .id = number_of(given, "id", 0),
              .views = number_of(given, "views", 3),
              .pause = std::strtod(given.contains("pause") ? given["pause"].c_str() : "0", nullptr)};
    if (const int status = nwt_open(&options, &side.endpoint); status != NWT_OK) {
        finish(status, 0);
    }
    std::printf("open\n");
    std::fflush(stdout);
    if (const int status = nwt_wait_peers(side.endpoint, 1, side.timeout); status != NWT_OK && !side.tolerate) {
        finish(status, 0);
    }
    std::printf("connected\n");
    std::fflush(stdout);
    if (role == "push") {
        push(side);
    } else {
        pull(side, senders);
    }
}
