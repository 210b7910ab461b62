// SPDX-License-Identifier: BSD-3-Clause
#include "transport/hello.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>

#include "transport/error.h"

namespace nodewise::transport {

namespace {

constexpr std::array<char, 8> kMagic{'n', 'o', 'd', 'e', 'w', 'i', 's', 'e'};
constexpr std::size_t kMostText = 512, kMostDescriptors = 3, kMostPacket = 1536;

struct Fixed {  // what each packet begins with
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::int32_t pattern = 0;
    std::uint64_t capacity = 0;
    std::uint64_t slots = 0;
    std::uint32_t barriers = 0;
    std::uint32_t text = 0;  // bytes of the refusal, which follows
    std::int32_t pid = 0;
    std::uint32_t zero = 0;
};

sockaddr_un address_of(const std::string& name, socklen_t& length) {
    sockaddr_un address{};
    if (name.size() + 1 > sizeof address.sun_path) {
        throw Error(NWT_INVALID,
                    "the name is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes: " + name);
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // it begins with 0: no file
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return address;
}

Fd new_socket() { return Fd(checked(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")); }

}  // namespace

std::vector<std::byte> encode(const Hello& hello) {
    const std::string text = hello.refusal.substr(0, kMostText);
    Fixed fixed{.pattern = hello.pattern,
                .capacity = hello.shape.capacity,
                .slots = hello.shape.slots,
                .barriers = hello.barriers ? 1U : 0U,
                .text = static_cast<std::uint32_t>(text.size()),
                .pid = hello.pid};
    std::vector<std::byte> packet(sizeof fixed + text.size());
    std::memcpy(packet.data(), &fixed, sizeof fixed);
    std::memcpy(packet.data() + sizeof fixed, text.data(), text.size());
    return packet;
}

Hello decode(std::span<const std::byte> packet) {
    Fixed fixed;
    if (packet.size() >= sizeof fixed) {
        std::memcpy(&fixed, packet.data(), sizeof fixed);
    }
    if (packet.size() < sizeof fixed || fixed.magic != kMagic) {
        throw Error(NWT_REFUSED, "what answers is no endpoint of nodewise-transport");
    }
    if (fixed.version != kVersion) {
        throw Error(NWT_REFUSED, "the other side speaks version " + std::to_string(fixed.version) +
                                     " of the handshake, this one " + std::to_string(kVersion) +
                                     ": install the same nodewise-transport on both");
    }
    const Shape shape{.capacity = fixed.capacity, .slots = fixed.slots};
    const bool silent = fixed.capacity == 0 && fixed.slots == 0;
    if (fixed.pattern < NWT_PUSH || fixed.pattern > NWT_REPLY || fixed.barriers > 1 || fixed.text > kMostText ||
        fixed.text != packet.size() - sizeof fixed || (!silent && !shape.valid())) {
        throw Error(NWT_REFUSED, "the other side's greeting is damaged");
    }
    Hello hello{
        .pattern = fixed.pattern, .barriers = fixed.barriers == 1, .pid = fixed.pid, .shape = shape, .refusal = {}};
    for (const std::byte letter : packet.subspan(sizeof fixed)) {
        const char plain = static_cast<char>(letter);
        hello.refusal += plain >= ' ' && plain < 127 ? plain : '?';
    }
    return hello;
}

// They come in pairs, of which the first one is odd.
bool fits(std::int32_t ours, std::int32_t theirs) { return ours != theirs && (ours - 1) / 2 == (theirs - 1) / 2; }
bool writes(std::int32_t pattern) { return pattern != NWT_PULL; }

const char* name_of(std::int32_t pattern) {
    constexpr std::array<const char*, 7> kNames{"?",           "push",       "pull",    "publishing",
                                                "subscribing", "requesting", "replying"};
    return kNames[pattern > 0 && pattern < 7 ? static_cast<std::size_t>(pattern) : 0];
}

void send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) {
    iovec data{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMostDescriptors * sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = space.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
        if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
            throw Error(NWT_PEER_LOST, "the other side went away before it was greeted");
        }
        fail_system("greeting the other side");
    }
}

std::optional<Packet> receive_packet(int socket) {
    Packet packet;
    packet.bytes.resize(kMostPacket);
    iovec data{.iov_base = packet.bytes.data(), .iov_len = packet.bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMostDescriptors * sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return std::nullopt;
    }
    for (cmsghdr* head = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); head != nullptr;
         head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
            for (std::size_t at = 0; at + CMSG_LEN(sizeof(int)) <= head->cmsg_len; at += sizeof(int)) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(head) + at, sizeof fd);
                packet.descriptors.emplace_back(fd);
            }
        }
    }
    if (got <= 0) {
        throw Error(NWT_PEER_LOST, "the other side went away before it had greeted");
    }
    packet.bytes.resize(static_cast<std::size_t>(got));
    return packet;
}

Credentials credentials_of(int socket) {
    ucred found{};
    socklen_t length = sizeof found;
    checked(getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &found, &length), "SO_PEERCRED");
    return {found.pid, found.uid};
}

Fd listen_at(const std::string& name) {
    Fd listening = new_socket();
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, length);
    if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
        if (errno != EADDRINUSE) {
            fail_system("bind");
        }
        const Fd other = connect_to(name);
        throw Error(NWT_ADDRESS_TAKEN,
                    other.open() ? "the address is taken by process " + std::to_string(credentials_of(other.get()).pid)
                                 : "the address is taken by a process that is just starting or ending");
    }
    checked(listen(listening.get(), 128), "listen");
    return listening;
}

Fd connect_to(const std::string& name) {
    Fd connecting = new_socket();
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, length);
    if (connect(connecting.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
        if (errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR) {
            return {};
        }
        fail_system("connect");
    }
    return connecting;
}

Fd accept_from(int listening) { return Fd(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)); }

}  // namespace nodewise::transport
