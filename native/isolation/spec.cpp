// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/spec.h"

#include "json/json.h"

namespace nodewise {

Spec parse_spec(const std::string& text) {
    const Json given = parse_json(text, "the specification");
    Spec spec;
    spec.report = given.value("report", "");
    spec.words = given.at("words").texts();
    spec.scratch = given.value("scratch", false);
    spec.config = to_text(given.value("config", Json()));
    spec.hidden = given.value("hidden", std::vector<std::string>());
    for (const Json& volume : given.value("volumes", Json::array()).elements()) {
        spec.volumes.push_back({volume.at("path").text(), volume.at("writable").truth()});
    }
    spec.initrd = given.value("initrd", "");
    spec.guest = to_text(given.value("guest", Json::object()));
    return spec;
}

}  // namespace nodewise
