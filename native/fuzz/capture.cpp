// SPDX-License-Identifier: BSD-3-Clause
// What a program prints, in pieces of any size: held against a plain reading of the whole. The first byte says how
// large the pieces are.
#include "runner/capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kMark = "{\"nodewise\":";

void must(bool good) {
    if (!good) {
        std::abort();
    }
}

struct Plain {
    std::vector<std::string> lines;
    std::uint64_t dropped = 0;
    std::uint64_t answer_bytes = 0;
    bool misplaced = false;
};

Plain read_plainly(const std::string& all) {
    Plain found;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        const std::string line = all.substr(at, end - at);
        const std::size_t whole = std::min(end + 1, all.size()) - at;
        const bool own = line.compare(0, kMark.size(), kMark) == 0;
        const bool too_long = line.size() > nodewise::Capture::kLongestLine;
        if (own && !too_long && line.size() > kMark.size()) {
            found.lines.push_back(line);
        } else {
            found.dropped += own && too_long ? 1 : 0;
            found.answer_bytes += whole;
        }
        found.misplaced |= line.find(kMark, 1) != std::string::npos;
        at = end + 1;
    }
    if (found.lines.size() > nodewise::Capture::kMostLines) {
        found.dropped += found.lines.size() - nodewise::Capture::kMostLines;
        found.lines.resize(nodewise::Capture::kMostLines);
    }
    return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    static nodewise::Capture capture;
    static const int copy = memfd_create("answer", MFD_CLOEXEC);
    const std::string all(reinterpret_cast<const char*>(data + 1), size - 1);
    // a large part many times over goes past what is kept
    const std::size_t times = data[0] % 16 == 15 ? 40 : 1;
    const std::size_t piece = data[0] % 16 == 15 ? 65536 : std::size_t{1} << (data[0] % 16);
    std::string whole;
    for (std::size_t i = 0; i < times; ++i) {
        whole += all;
    }
    capture.reset();
    capture.keep_answer(copy, whole.size());
    std::array<int, 2> ends{};
    must(pipe2(ends.data(), O_NONBLOCK) == 0);
    for (std::size_t at = 0; at < whole.size(); at += piece) {
        const std::size_t count = std::min(piece, whole.size() - at);
        must(write(ends[1], whole.data() + at, count) == static_cast<ssize_t>(count));
        must(capture.drain(ends[0]));
    }
    close(ends[1]);
    must(!capture.drain(ends[0]));
    close(ends[0]);
    capture.finish();
    const Plain plain = read_plainly(whole);
    must(capture.total() == whole.size());
    must(capture.protocol_lines() == plain.lines);
    must(capture.protocol_dropped() == plain.dropped);
    must(capture.answer_bytes() == plain.answer_bytes);
    must(capture.misplaced().empty() == !plain.misplaced);
    const std::string text = capture.text();
    must(whole.size() > 2 * nodewise::Capture::kKeep ? text.size() < 2 * nodewise::Capture::kKeep + 100
                                                     : text == whole);
    return 0;
}
