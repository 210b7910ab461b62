// SPDX-License-Identifier: BSD-3-Clause
#include "pcie.h"

#include <cstdlib>
#include <fstream>

namespace gpucopy {
namespace {

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace

double pcie_rate(double gigatransfers, int lanes) {
    constexpr double kSecond = 5.0, kFifth = 32.0, kBits = 8.0, kGiga = 1e9;
    const double code = gigatransfers <= kSecond ? 8.0 / 10 : gigatransfers <= kFifth ? 128.0 / 130 : 242.0 / 256;
    return gigatransfers > 0 && lanes > 0 ? gigatransfers * kGiga * code * lanes / kBits : 0;
}

double slot_rate(const std::string& root, const std::string& bus) {
    const std::string folder = root + "/sys/bus/pci/devices/" + bus;
    // "16.0 GT/s PCIe", and "16"; "Unknown" is no number, and so 0
    return pcie_rate(std::strtod(line_of(folder + "/max_link_speed").c_str(), nullptr),
                     static_cast<int>(std::strtol(line_of(folder + "/current_link_width").c_str(), nullptr, 10)));
}

}  // namespace gpucopy
