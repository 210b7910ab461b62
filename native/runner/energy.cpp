// SPDX-License-Identifier: BSD-3-Clause
#include "runner/energy.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace nodewise {
namespace {

// Zones of /sys/class/powercap, those that are read through registers first.
std::vector<std::string> zones_of(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code problem;
    for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
        const std::string name = at->path().filename();
        if (name.find(':') != std::string::npos) {
            found.push_back(name);
        }
    }
    std::sort(found.begin(), found.end(), [](const std::string& one, const std::string& other) {
        const bool later = one.find("-mmio") != std::string::npos;
        const bool other_later = other.find("-mmio") != std::string::npos;
        return later == other_later ? one < other : other_later;
    });
    return found;
}

}  // namespace

Energy::Energy(const std::string& root) {
    open(root);
    if (!missing_.empty()) {
        domains_.clear();
    }
}

void Energy::open(const std::string& root) {
    const std::string shown = "/sys/class/powercap";
    const std::vector<std::string> zones = zones_of(root + shown);
    std::set<std::pair<std::string, std::string>> seen;
    const auto add = [&](const std::string& zone, const std::string& condition) {
        std::string path = root;
        path.append(shown).append("/").append(zone).append("/energy_uj");
        KernelFile file(path);
        if (!file.there()) {
            const bool forbidden = errno == EACCES || errno == EPERM;
            missing_ = shown + "/" + zone + "/energy_uj " + (forbidden ? "may not be read" : "cannot be read");
            remedy_ = forbidden
                          ? "only root may since 2020: run as root, or let others read it until the next start with: "
                            "sudo chmod a+r " +
                                shown + "/*/energy_uj"
                          : "containers hide it: run outside of one";
            return;
        }
        const KernelFile range(path.substr(0, path.rfind('/')) + "/max_energy_range_uj");
        domains_.push_back({condition, std::move(file), range.number()});
    };
    const auto name_of = [&](const std::string& zone) {
        std::string path = root;
        path.append(shown).append("/").append(zone).append("/name");
        std::string name = KernelFile(path).read();
        name.erase(std::min(name.find('\n'), name.size()));
        return name;
    };
    std::string platform;
    std::string nameless;
    for (const std::string& zone : zones) {
        const std::string name = name_of(zone);
        const bool dram = name == "dram";
        if (name.empty()) {
            nameless = zone;
        } else if (name == "psys" && platform.empty()) {
            platform = zone;
        } else if (dram || name.compare(0, 7, "package") == 0) {
            const std::string parent = dram ? name_of(zone.substr(0, zone.rfind(':'))) : "";
            if (seen.emplace(parent, name).second) {
                add(zone, dram ? "energy_dram_j" : "energy_package_j");
            }
        }
    }
    if (domains_.empty() && missing_.empty() && !platform.empty()) {
        add(platform, "energy_psys_j");
    }
    if (!domains_.empty() || !missing_.empty()) {
        return;
    }
    if (!nameless.empty()) {
        // a container that covers the devices leaves the links to them
        add(nameless, "");
    }
    if (missing_.empty()) {
        missing_ = shown + " holds no energy counter (energy_uj) of a socket";
        remedy_ =
            "virtual machines seldom show any: run on the machine itself, "
            "where `modprobe intel_rapl_msr` may bring them (on AMD, too)";
        domains_.clear();
    }
}

void Energy::start() {
    complete_ = there();
    for (Domain& domain : domains_) {
        const std::optional<double> now = domain.file.leading_number();
        complete_ &= now.has_value();
        domain.last_uj = now.value_or(0);
        domain.risen_uj = 0;
    }
}

void Energy::look() {
    for (Domain& domain : domains_) {
        const std::optional<double> now = domain.file.leading_number();
        if (!now || (*now < domain.last_uj && domain.range_uj <= 0)) {
            complete_ = false;
            return;
        }
        domain.risen_uj += *now - domain.last_uj + (*now < domain.last_uj ? domain.range_uj : 0);
        domain.last_uj = *now;
    }
}

std::map<std::string, double> Energy::stop() {
    std::map<std::string, double> used;
    if (!complete_) {
        return used;
    }
    look();
    if (!complete_) {
        return used;
    }
    for (const Domain& domain : domains_) {
        used["energy_j"] += domain.risen_uj * 1e-6;
        used[domain.condition] += domain.risen_uj * 1e-6;
    }
    return used;
}

}  // namespace nodewise
