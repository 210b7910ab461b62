// SPDX-License-Identifier: BSD-3-Clause
// The door of ofi+tcp, ofi+shm and ofi+verbs: its peers, and the thread that carries their rings by libfabric. Peers
// meet over a socket (TCP, or a Unix socket on one machine) that stays open: its end is that of its process.
#pragma once

#include <poll.h>

#include <deque>
#include <map>

#include "transport/card.h"
#include "transport/door.h"
#include "transport/fabric.h"
#include "transport/relay.h"
#include "transport/sockets.h"

namespace nodewise::transport {

class OfiDoor final : public Door {
  public:
    OfiDoor(const Options& options, const Bell& bell);
    OfiDoor(const OfiDoor&) = delete;
    OfiDoor& operator=(const OfiDoor&) = delete;
    ~OfiDoor() override;
    void shut() override;
    void finish() override;
    void forget() override;
    std::string address() const override { return address_; }
    std::string provider() const override { return provider_; }

  private:
    static constexpr std::int64_t kMillisecond = 1'000'000;
    // for a greeting; on a busy machine libfabric takes its time to begin
    static constexpr std::int64_t kPatience = 5000 * kMillisecond;
    static constexpr std::int64_t kShortestGap = 2 * kMillisecond, kLongestGap = 100 * kMillisecond;
    static constexpr std::int64_t kFarewell = 5000 * kMillisecond;  // for who is taken leave of
    static constexpr std::int64_t kLast = 20 * kMillisecond;        // for frames that come after their socket's end
    static constexpr std::int64_t kParting = 200 * kMillisecond;    // for the word that we end it to be on its way
    static constexpr std::int64_t kQuiet = 5000 * kMillisecond;     // until memory of who has gone is given back
    static constexpr std::size_t kMostPeers = 4096, kMostGuests = 256;
    static constexpr std::int64_t kSweep =
        20 * kMillisecond;                                   // between two tries to remove what a dying one still holds
    static constexpr std::int64_t kLook = 5 * kMillisecond;  // at sockets, however much there is to do
    static constexpr std::int64_t kLongestSleep = 1000 * kMillisecond;
    static constexpr std::uint64_t kMostInFrame = 65536, kMostDescriptorsInFrame = 1024;
    // of shm: so that a frame has 4096 bytes at most, which this provider copies at once. Of more the other side would
    // have to say that it has it, and once it has died nobody else's would end any more.
    static constexpr std::uint64_t kMostInShmFrame = 3072, kMostDescriptorsInShmFrame = 96;
    static constexpr std::size_t kMostShmPeers = 250;  // the provider has 256
    static constexpr int kOnWay = 8;                   // frames to one peer
    static constexpr int kTurn = 64;                   // looks at what has ended before others are written

    struct Frame {  // one that goes out
        Call* call = nullptr;
        Relay::Placed placed;  // what has to be there before
        bool writing = false;  // that is on its way
    };
    struct Early {  // one that came before its turn
        Call* call;
        std::uint64_t bytes;
    };
    struct Peer {
        Fd socket, process;
        bool calling = false;         // it has not our greeting yet
        std::vector<std::byte> told;  // of its greeting
        std::vector<Fd> descriptors;  // that came with it
        std::int64_t until_ns = 0;    // for it, and for parting

        std::unique_ptr<Relay> relay;  // once we have met
        std::uint64_t cookie = 0;      // what begins each frame for it; those for us begin with its key in peers_
        fi_addr_t there = FI_ADDR_UNSPEC;
        std::unique_ptr<Bell> keeper;  // of the thread over there, where nothing else wakes it
        bool fenced = true;
        Region landing, source;              // what it may write; what we write from
        std::uint64_t address = 0, key = 0;  // of where we may
        std::string shm_name;
        std::optional<Guard> guard;    // of its memory, where we write into it
        std::shared_ptr<Fabric> kept;  // its end, in this process, where shm does not map it a second time

        std::uint64_t sent = 0, expected = 0;  // frames
        std::map<std::uint64_t, Early> early;
        std::deque<Frame> waiting;
        int on_way = 0;
        bool waits = false;         // for its first frame: two that connect to each other at once end one connection
        std::int64_t ended_ns = 0;  // when its socket did; there may still be frames
        bool heard = false;         // all that it was sent, our farewell being the last of it
        bool left = false;          // it has taken leave, and is sent nothing more
        bool parting = false;
        bool gone = false;
        RemoteLink& link() const { return *relay->link(); }
    };
    using Peers = std::map<std::uint64_t, std::unique_ptr<Peer>>;
    // Frames of one byte, but for the offer, which says where and with which key.
    enum class Word : std::uint8_t { kFarewell = 1, kHeard = 2, kOffer = 3, kHere = 4 };
    struct Head {
        std::uint64_t cookie = 0, number = 0;
    };
    struct Offer {
        std::uint64_t word = 0, address = 0, key = 0;
    };

    // door_ofi.cpp
    void run();
    bool turn();
    void rest();
    std::int64_t next_moment() const;
    void look(std::int64_t at_most_ns);
    void open_fabric();
    bool read();
    void ended(Call& call, std::uint64_t bytes, int error);
    void came(Call& call, std::uint64_t bytes);
    void deliver_in_turn(std::uint64_t cookie, Peer& peer);
    void deliver(std::uint64_t cookie, Peer& peer, std::span<const std::byte> frame);
    bool write();
    bool write_to(std::uint64_t cookie, Peer& peer);
    bool begin(Peer& peer);
    bool begin_writing(Peer& peer, Frame& frame);
    std::byte* new_frame(std::uint64_t cookie, Peer& peer, std::size_t bytes);
    static void wake(const Peer& peer);
    bool local() const { return options_.scheme == "ofi+shm"; }

    // door_ofi_peers.cpp
    void let_in();
    bool hear(std::uint64_t cookie, Peer& peer);
    void meet(std::uint64_t cookie, Peer& guest, const Card& theirs);
    std::vector<std::byte> name_of_end(Peer& peer, const Card& theirs) const;
    void greet(std::uint64_t cookie, const Peer& peer, const std::string& refusal) const;
    void refuse(std::uint64_t cookie, const Peer& peer, const std::string& reason) const;
    void offer(std::uint64_t cookie, Peer& peer);
    void accept(Peer& peer, const Offer& offered);
    void limit(Peer& peer, std::uint64_t place_from) const;
    void renew();
    void say(std::uint64_t cookie, Peer& peer, Word word);
    void lose(Peer& peer, const std::string& why);
    void sweep();
    void dismiss(Peers::iterator at);
    void left_by(const Peer& peer);
    void sweep_left();
    bool take_leave();
    void knock();
    void hang_up();
    void check(const Credentials& peer) const;
    std::string socket_name() const;

    sockaddr_in place_{};  // of tcp and verbs
    std::string address_, source_, provider_;
    Fd listening_;
    Bell keeper_;  // of the thread
    std::shared_ptr<Fabric> fabric_;
    Fd held_;               // what shm has in /dev/shm
    Peers peers_, guests_;  // by what begins their frames; guests have not greeted us yet, nor has who is called
    std::vector<std::unique_ptr<Peer>> departed_;  // whose memory may still be in use
    struct Left {
        std::string name;
        std::int64_t until_ns = 0;
    };
    std::vector<Left> left_;  // by them in /dev/shm, tried again while who dies still holds it
    std::int64_t sweep_ns_ = 0;
    std::int64_t looked_ns_ = 0;
    std::int64_t next_knock_ns_ = 0, knock_gap_ns_ = kShortestGap;
    std::int64_t leaving_until_ns_ = 0;  // 0: we have not taken leave
    std::uint64_t serial_ = 0;
    std::uint32_t place_from_ = 0;
    std::mutex meeting_;
    bool shut_ = false;  // below it
    std::atomic<bool> finishing_{false}, stopping_{false};
    bool forgotten_ = false;
    std::thread thread_;
};

}  // namespace nodewise::transport
