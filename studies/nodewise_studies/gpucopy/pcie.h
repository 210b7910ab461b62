// SPDX-License-Identifier: BSD-3-Clause
// What the slot of a device can carry at most, as sysfs tells.
#pragma once

#include <string>

namespace gpucopy {

// Bytes a second each way of that many lanes at that signalling rate, by the line code of each generation of PCI
// Express (8b/10b up to 5 GT/s, 128b/130b up to 32, and from 64 on in flits of 256 bytes with 242 of payload and
// headers); headers of packets not taken off. 0 for what is none.
double pcie_rate(double gigatransfers, int lanes);

// Of the device at that bus address, below `root` (/ but for tests), as its link runs now; 0 where it does not tell.
double slot_rate(const std::string& root, const std::string& bus);

}  // namespace gpucopy
