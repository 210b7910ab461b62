// SPDX-License-Identifier: BSD-3-Clause
#include "json/json.h"

#include <stdexcept>

namespace nodewise {

namespace {

// What the engine writes, and an OCI bundle's config, have some ten levels.
constexpr int kDeepest = 50;

}  // namespace

json parse_json(const std::string& text, const char* what) {
    return json::parse(text, [what](int depth, json::parse_event_t, const json&) {
        if (depth > kDeepest) {
            throw std::invalid_argument(std::string(what) + " is nested too deeply");
        }
        return true;
    });
}

std::string to_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string protocol_line(const json& object) { return "{\"nodewise\":1," + to_text(object).substr(1); }

}  // namespace nodewise
