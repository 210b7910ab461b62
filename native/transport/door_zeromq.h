// SPDX-License-Identifier: BSD-3-Clause
// The door of tcp and ipc: its peers, and the thread that carries their rings.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

#include "transport/door.h"
#include "transport/relay.h"
#include "transport/zeromq.h"

namespace nodewise::transport {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPatience = 1000 * kMillisecond;  // for a greeting
constexpr std::int64_t kShortestGap = 2 * kMillisecond, kLongestGap = 100 * kMillisecond;
constexpr std::size_t kMostPeers = 4096;
constexpr int kLingerMs = 1000;                          // for frames that nobody need answer
constexpr std::int64_t kFarewell = 5000 * kMillisecond;  // for who is taken leave of to say that all has come
constexpr int kTurn = 256;                               // frames that are read before others are written

class ZeromqDoor final : public Door {
  public:
    ZeromqDoor(const Options& options, const Bell& bell);
    ZeromqDoor(const ZeromqDoor&) = delete;
    ZeromqDoor& operator=(const ZeromqDoor&) = delete;
    ~ZeromqDoor() override;
    void shut() override;
    void finish() override;
    void forget() override;
    std::string address() const override { return address_; }

  private:
    struct Peer {
        std::unique_ptr<Relay> relay;
        std::string id;      // of a ROUTER's peer
        int fd = -1;         // by which the monitor knows it
        bool ended = false;  // its connection is; there may still be frames
        bool heard = false;  // all that it was sent, our farewell being the last of it
        bool gone = false;
        RemoteLink& link() const { return *relay->link(); }
    };
    // Frames of a single byte.
    enum class Word : std::uint8_t { kFarewell = 1, kHeard = 2 };
    void run();
    void rest();
    bool read();
    bool read_one();
    void read_monitor();
    void happened(int event, int fd);
    void meet(const std::string& id, int fd, std::span<const std::byte> frame, const std::string& place);
    std::unique_ptr<Relay> make_relay(const Hello& theirs, const std::string& place);
    bool write();
    bool write_to(Peer& peer);
    bool send(const std::string& id, Message& frame);
    void greet(const std::string& id, Shape shape, const std::string& refusal);
    void lose(Peer& peer, const std::string& why);
    void sweep();
    bool take_leave();
    void say(Peer& peer, Word word);
    void knock();
    bool somebody_there() const;
    void hang_up();
    std::string where() const;

    void* context_;
    std::unique_ptr<Socket> socket_;
    std::string address_;
    Bell keeper_;  // of the thread
    std::vector<Peer> peers_;
    std::set<int> ended_;  // connections of which messages may still come
    std::int64_t next_knock_ns_ = 0, knock_gap_ns_ = kShortestGap;
    std::int64_t calling_until_ns_ = 0;  // 0: we wait for nobody's greeting
    std::int64_t leaving_until_ns_ = 0;  // 0: we have not taken leave
    bool cut_ = false;                   // the connection of a DEALER has ended
    std::uint64_t serial_ = 0;
    std::mutex meeting_;
    bool shut_ = false;  // below it
    std::atomic<bool> finishing_{false}, stopping_{false};
    bool forgotten_ = false;
    std::thread thread_;
};

}  // namespace nodewise::transport
