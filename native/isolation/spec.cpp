// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/spec.h"

#include "json/json.h"

namespace nodewise {

Spec parse_spec(const std::string& text) {
    const json given = parse_json(text, "the specification");
    Spec spec;
    spec.report = given.value("report", "");
    spec.words = given.at("words").get<std::vector<std::string>>();
    spec.scratch = given.value("scratch", false);
    spec.config = to_text(given.value("config", json()));
    spec.hidden = given.value("hidden", std::vector<std::string>());
    for (const auto& volume : given.value("volumes", json::array())) {
        spec.volumes.push_back({volume.at("path"), volume.at("writable")});
    }
    spec.initrd = given.value("initrd", "");
    spec.guest = to_text(given.value("guest", json::object()));
    return spec;
}

}  // namespace nodewise
