// SPDX-License-Identifier: BSD-3-Clause
// Frames of the engine: whatever they hold is a request within bounds, or an exception.
#include "runner/request.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>

namespace {

bool all_below(const std::vector<int>& numbers, int most) {
    for (const int n : numbers) {
        if (n < 0 || n >= most) {
            return false;
        }
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const nodewise::Request request =
            nodewise::parse_request(std::string(reinterpret_cast<const char*>(data), size));
        const nodewise::Job& job = request.job;
        const bool good = all_below(job.mask.value_or(std::vector<int>{}), 8192) && all_below(request.domain, 8192) &&
                          (!job.memory || all_below(job.memory->nodes, 1024)) && std::isfinite(job.timeout_s) &&
                          job.timeout_s >= 0 && request.answer_file >= -1;
        if (!good) {
            std::abort();
        }
    } catch (const std::exception&) {
        return 0;
    }
    return 0;
}
