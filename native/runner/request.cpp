// SPDX-License-Identifier: BSD-3-Clause
#include "runner/request.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "json/json.h"

namespace nodewise {
namespace {

constexpr int kMostProcessors = 8192;  // as many as Linux can be built for
constexpr int kMostNodes = 1024;       // the same
constexpr int kMostLimits = 64;
constexpr double kLongest_s = 1e9;

// The bytes of a text as the engine sends it: each as the character of that number, since JSON holds characters only.
std::string to_bytes(const std::string& text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        if (byte >= 0x80) {
            if ((byte & 0xFC) != 0xC0 || i + 1 == text.size()) {
                throw std::invalid_argument("a text of the request holds more than bytes");
            }
            byte = static_cast<unsigned char>((byte << 6) | (static_cast<unsigned char>(text[++i]) & 0x3F));
        }
        bytes.push_back(static_cast<char>(byte));
    }
    return bytes;
}

std::vector<std::string> to_bytes(const std::vector<std::string>& texts) {
    std::vector<std::string> made;
    made.reserve(texts.size());
    for (const std::string& text : texts) {
        made.push_back(to_bytes(text));
    }
    return made;
}

// A whole number from 0 on and below `most`: any other would be cut to one that fits.
int to_number(const Json& value, int most, const char* what) {
    if (!value.is_unsigned() || value.whole() >= static_cast<std::uint64_t>(most)) {
        throw std::invalid_argument(std::string("the request has ") + what + " " + to_text(value));
    }
    return static_cast<int>(value.whole());
}

std::uint64_t to_size(const Json& value) {
    if (!value.is_unsigned()) {
        throw std::invalid_argument("the request has a size " + to_text(value));
    }
    return value.whole();
}

std::vector<int> to_numbers(const Json& list, int most, const char* what) {
    std::vector<int> made;
    for (const Json& one : list.elements()) {
        made.push_back(to_number(one, most, what));
    }
    return made;
}

Job to_job(const Json& request) {
    Job job;
    job.program = to_bytes(request.at("program").text());
    job.arguments = to_bytes(request.at("arguments").texts());
    job.environment = to_bytes(request.at("environment").texts());
    job.directory = to_bytes(request.value("directory", ""));
    job.input = to_bytes(request.value("input", "/dev/null"));
    if (const Json mask = request.value("mask", Json()); !mask.is_null()) {
        job.mask = to_numbers(mask, kMostProcessors, "a processor");
    }
    if (const Json memory = request.value("memory", Json()); !memory.is_null()) {
        job.memory = MemoryPolicy{to_number(memory.at("mode"), std::numeric_limits<int>::max(), "a memory policy"),
                                  to_numbers(memory.at("nodes"), kMostNodes, "a NUMA node")};
    }
    job.no_huge_pages = request.value("no_huge_pages", false);
    for (const Json& limit : request.value("limits", Json::array()).elements()) {
        job.limits.emplace_back(to_number(limit.at(0), kMostLimits, "a resource"), to_size(limit.at(1)));
    }
    job.timeout_s = request.value("timeout_s", 0.0);
    if (!std::isfinite(job.timeout_s) || job.timeout_s < 0) {
        throw std::invalid_argument("the request has a timeout that is no time");
    }
    job.timeout_s = std::fmin(job.timeout_s, kLongest_s);
    return job;
}

}  // namespace

Request parse_request(const std::string& frame) {
    const Json asked = parse_json(frame, "the request");
    Request request;
    if (asked.contains("cancel")) {
        request.cancel = true;
        return request;
    }
    request.id = asked.value("id", "");
    request.job = to_job(asked);
    request.domain = to_numbers(asked.value("domain", Json::array()), kMostProcessors, "a processor");
    if (asked.contains("answer")) {
        const Json answer = asked.at("answer");
        request.answer_file = to_number(answer.at("file"), std::numeric_limits<int>::max(), "a file");
        request.answer_most = to_size(answer.at("most"));
    }
    return request;
}

}  // namespace nodewise
