// SPDX-License-Identifier: BSD-3-Clause
#include "runner/request.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace nodewise {
namespace {

using nlohmann::json;

constexpr int kMostProcessors = 8192;  // as many as Linux can be built for
constexpr int kMostNodes = 1024;       // the same
constexpr double kLongest_s = 1e9;
constexpr int kDeepest = 20;

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

// Numbers of processors or memory nodes.
std::vector<int> to_numbers(const json& list, int most) {
    std::vector<int> made;
    for (const json& one : list) {
        // a larger number would be cut to one that fits
        const auto number = one.get<std::int64_t>();
        if (!one.is_number_integer() || number < 0 || number >= most) {
            throw std::invalid_argument("the request names a processor or node " + one.dump());
        }
        made.push_back(static_cast<int>(number));
    }
    return made;
}

Job to_job(const json& request) {
    Job job;
    job.program = to_bytes(request.at("program").get<std::string>());
    job.arguments = to_bytes(request.at("arguments").get<std::vector<std::string>>());
    job.environment = to_bytes(request.at("environment").get<std::vector<std::string>>());
    job.directory = to_bytes(request.value("directory", ""));
    job.input = to_bytes(request.value("input", "/dev/null"));
    if (request.contains("mask") && !request["mask"].is_null()) {
        job.mask = to_numbers(request["mask"], kMostProcessors);
    }
    if (request.contains("memory") && !request["memory"].is_null()) {
        job.memory = MemoryPolicy{request["memory"].at("mode"), to_numbers(request["memory"].at("nodes"), kMostNodes)};
    }
    job.no_huge_pages = request.value("no_huge_pages", false);
    for (const auto& [resource, value] : request.value("limits", std::vector<std::pair<int, std::uint64_t>>{})) {
        job.limits.emplace_back(resource, value);
    }
    job.timeout_s = request.value("timeout_s", 0.0);
    if (!std::isfinite(job.timeout_s) || job.timeout_s < 0) {
        throw std::invalid_argument("the request has a timeout that is no time");
    }
    job.timeout_s = std::fmin(job.timeout_s, kLongest_s);
    return job;
}

// Objects are taken apart by recursion: a deep one would find the end of the stack.
json parse_bounded(const std::string& frame) {
    return json::parse(frame, [](int depth, json::parse_event_t, const json&) {
        if (depth > kDeepest) {
            throw std::invalid_argument("the request is nested too deeply");
        }
        return true;
    });
}

}  // namespace

Request parse_request(const std::string& frame) {
    const json asked = parse_bounded(frame);
    Request request;
    if (asked.contains("cancel")) {
        request.cancel = true;
        return request;
    }
    request.job = to_job(asked);
    request.domain = to_numbers(asked.value("domain", json::array()), kMostProcessors);
    if (asked.contains("answer")) {
        request.answer_file = asked["answer"].at("file").get<int>();
        request.answer_most = asked["answer"].at("most").get<std::uint64_t>();
        if (request.answer_file < 0) {
            throw std::invalid_argument("the request has an answer without a file");
        }
    }
    return request;
}

}  // namespace nodewise
