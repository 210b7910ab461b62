// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/spec.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace nodewise {

namespace {

using nlohmann::json;

// An OCI bundle's config has some ten levels.
constexpr int kDeepest = 50;

std::string as_text(const json& part) { return part.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

Spec parse_spec(const std::string& text) {
    const json given = json::parse(text, [](int depth, json::parse_event_t, const json&) {
        if (depth > kDeepest) {
            throw std::invalid_argument("the specification is nested too deeply");
        }
        return true;
    });
    Spec spec;
    spec.report = given.value("report", "");
    spec.words = given.at("words").get<std::vector<std::string>>();
    spec.scratch = given.value("scratch", false);
    spec.config = as_text(given.value("config", json()));
    spec.hidden = given.value("hidden", std::vector<std::string>());
    for (const auto& volume : given.value("volumes", json::array())) {
        spec.volumes.push_back({volume.at("path"), volume.at("writable")});
    }
    spec.initrd = given.value("initrd", "");
    spec.guest = as_text(given.value("guest", json::object()));
    return spec;
}

}  // namespace nodewise
