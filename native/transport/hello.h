// SPDX-License-Identifier: BSD-3-Clause
// How two endpoints meet: what each tells the other. On one machine that is a packet over a Unix socket, with
// descriptors of its shared memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/lane.h"

namespace nodewise::transport {

constexpr std::uint32_t kVersion = 3;

struct Hello {
    std::int32_t pattern = 0;
    bool barriers = false;  // takes part in them
    std::int32_t pid = 0;   // which only who cannot see it believes
    Shape shape;            // of what it writes; all 0 where it writes nothing
    std::string refusal;    // not empty: it will not talk to us, and why
};

// The packet, and back; throws Error(NWT_REFUSED) for what is no greeting of this version.
std::vector<std::byte> encode(const Hello& hello);
Hello decode(std::span<const std::byte> packet);

bool fits(std::int32_t ours, std::int32_t theirs);
bool writes(std::int32_t pattern);
const char* name_of(std::int32_t pattern);

struct Packet {
    std::vector<std::byte> bytes;
    std::vector<Fd> descriptors;
};

void send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors);
// Nothing where there is none yet; throws where the other side has gone.
std::optional<Packet> receive_packet(int socket);

struct Credentials {
    pid_t pid;
    uid_t uid;
};
Credentials credentials_of(int socket);

// The sockets' names are abstract: they end with their process. A name that many programs can have is looked for by
// this user alone.
Fd listen_at(const std::string& name);   // throws NWT_ADDRESS_TAKEN with the pid of who has it
Fd connect_to(const std::string& name);  // not open where nobody listens
Fd accept_from(int listening);

}  // namespace nodewise::transport
