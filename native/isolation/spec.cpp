// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/spec.h"

#include <stdexcept>

namespace nodewise {

namespace {

// An OCI bundle's config has some ten levels.
constexpr int kDeepest = 50;

}  // namespace

Spec parse_spec(const std::string& text) {
    const nlohmann::json given =
        nlohmann::json::parse(text, [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
            if (depth > kDeepest) {
                throw std::invalid_argument("the specification is nested too deeply");
            }
            return true;
        });
    Spec spec;
    spec.report = given.value("report", "");
    spec.words = given.at("words").get<std::vector<std::string>>();
    spec.scratch = given.value("scratch", false);
    spec.config = given.value("config", nlohmann::json());
    spec.hidden = given.value("hidden", std::vector<std::string>());
    for (const auto& volume : given.value("volumes", nlohmann::json::array())) {
        spec.volumes.push_back({volume.at("path"), volume.at("writable")});
    }
    spec.initrd = given.value("initrd", "");
    spec.guest = given.value("guest", nlohmann::json::object());
    return spec;
}

}  // namespace nodewise
