// SPDX-License-Identifier: BSD-3-Clause
// A guest's interfaces, set up without any program of its root.
#pragma once

#include <string>

namespace nodewise {

// Programs talk to 127.0.0.1 without any network, too. Where the kernel has no such protocol, nothing is done.
void start_loopback();

// What the guest's card is given, as decimal numbers with dots.
struct Network {
    std::string address;
    std::string mask;
    std::string gateway;
};

// Gives it to the card, and waits until that is connected. Raises std::runtime_error.
void start_network(const Network& network);

// Keeps `text` in a file of the first file system, and returns that file, open. Raises std::runtime_error.
int write_name_servers(const std::string& text);

// In the root that the program sees: shows `file` at /etc/resolv.conf, and closes it. Where a root that is read-only
// has no such file, names stay unresolved. Raises std::runtime_error.
void show_name_servers(int file);

}  // namespace nodewise
