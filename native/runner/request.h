// SPDX-License-Identifier: BSD-3-Clause
// What the engine asks of the runner, read from a frame and checked: nothing behind it has to fear a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/process.h"

namespace nodewise {

// No request is as long: arguments and environment together have some megabytes at most.
constexpr std::size_t kLongestFrame = std::size_t{256} << 20;

struct Request {
    bool cancel = false;  // the run that goes on is to end; nothing else is set then
    Job job;
    std::vector<int> domain;  // more processors whose load is reported
    int answer_file = -1;     // where what is printed is copied to; -1: nowhere
    std::uint64_t answer_most = 0;
    std::string id;  // the answer bears it, so that it is known from whatever else gets into the pipe
};

// Throws std::exception, in words, for what is none.
Request parse_request(const std::string& frame);

}  // namespace nodewise
