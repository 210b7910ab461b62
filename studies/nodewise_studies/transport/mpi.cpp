// SPDX-License-Identifier: BSD-3-Clause
// Two ranks of an MPI, by whichever library was opened: messages, and one-sided puts under a lock. What an MPI calls
// its things differs in two binary interfaces: Open MPI's, and MPICH's, which Intel MPI and others keep to.
#include <cstdint>

#include "drive.h"
#include "libraries.h"
#include "place.h"

namespace transport {
namespace {

constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30;

// Of Open MPI's mpi.h. Handles are addresses.
struct OpenMpi {
    using Handle = void*;
    explicit OpenMpi(const Side& side)
        : world(dlsym(side.library(), "ompi_mpi_comm_world")),
          byte(dlsym(side.library(), "ompi_mpi_byte")),
          no_info(dlsym(side.library(), "ompi_mpi_info_null")),
          none(dlsym(side.library(), "ompi_request_null")) {}
    Handle world, byte, no_info, none;
    void* no_status = nullptr;
    void* no_statuses = nullptr;
    static constexpr int kShared = 2;
};

// Of MPICH's mpi.h. Handles are numbers.
struct Mpich {
    using Handle = int;
    explicit Mpich(const Side&) {}
    Handle world = 0x44000000, byte = 0x4c00010d, no_info = 0x1c000000, none = 0x2c000000;
    void* no_status = reinterpret_cast<void*>(std::intptr_t{1});    // NOLINT(performance-no-int-to-ptr)
    void* no_statuses = reinterpret_cast<void*>(std::intptr_t{1});  // NOLINT(performance-no-int-to-ptr)
    static constexpr int kShared = 235;
};

void must(int status, const char* call) {
    if (status != 0) {
        fail(std::string(call) + " failed with error " + std::to_string(status));
    }
}

// Both ranks, joined. What is wrong before is found out: by the wrong launcher each is rank 0 of 1.
template <class Names>
class Joined {
  public:
    using Handle = typename Names::Handle;
    explicit Joined(const Side& side) : names(side) {
        int (*init)(int*, char***) = nullptr;
        int (*size_of)(Handle, int*) = nullptr;
        int (*rank_of)(Handle, int*) = nullptr;
        side.find(init, "MPI_Init");
        side.find(size_of, "MPI_Comm_size");
        side.find(rank_of, "MPI_Comm_rank");
        side.find(end_, "MPI_Finalize");
        must(init(nullptr, nullptr), "MPI_Init");
        int count = 0;
        int rank = 0;
        must(size_of(names.world, &count), "MPI_Comm_size");
        must(rank_of(names.world, &rank), "MPI_Comm_rank");
        if (count != 2 || (rank == 0) != side.receiver) {
            fail("this is rank " + std::to_string(rank) + " of " + std::to_string(count) +
                 ", not of 2: the launcher and the library are of different MPIs");
        }
        other = 1 - rank;
    }
    void end() const { must(end_(), "MPI_Finalize"); }
    Names names;
    int other = 0;

  private:
    int (*end_)() = nullptr;
};

template <class Names>
class Messages {
  public:
    using Handle = typename Names::Handle;
    Messages(const Side& side, const Joined<Names>& mpi)
        : names_(mpi.names),
          other_(mpi.other),
          size_(side.task.size),
          out_(size_, buffers_of(side.task, true)),
          in_(size_, buffers_of(side.task, true)),
          sent_(out_.count(), names_.none),
          coming_(in_.count(), names_.none) {
        if (size_ > kMostAtOnce) {
            fail("a message of MPI counts in int: size is at most " + std::to_string(kMostAtOnce));
        }
        side.find(isend_, "MPI_Isend");
        side.find(irecv_, "MPI_Irecv");
        side.find(wait_, "MPI_Wait");
        side.find(all_, "MPI_Waitall");
        latency_ = side.task.kind == Class::kLatency;
        receiver_ = side.receiver || latency_;
        // the signal, too; as many as there are buffers are waited for from the start
        left_ = side.task.messages + (latency_ ? 0 : 1);
        for (std::uint64_t i = 0; receiver_ && i < in_.count() && left_ > 0; ++i) {
            ask(i);
        }
    }
    Byte* next() {
        const std::uint64_t slot = sends_ % out_.count();
        must(wait_(&sent_[slot], names_.no_status), "MPI_Wait");
        return out_.at(slot);
    }
    void post(std::uint64_t size) {
        const std::uint64_t slot = sends_++ % out_.count();
        must(isend_(out_.at(slot), static_cast<int>(size), names_.byte, other_, 0, names_.world, &sent_[slot]),
             "MPI_Isend");
    }
    void flush() {}
    void finish() { must(all_(static_cast<int>(sent_.size()), sent_.data(), names_.no_statuses), "MPI_Waitall"); }
    const Byte* take(std::uint64_t) {
        const std::uint64_t slot = takes_ % in_.count();
        must(wait_(&coming_[slot], names_.no_status), "MPI_Wait");
        return in_.at(slot);
    }
    void done() {
        const std::uint64_t slot = takes_++ % in_.count();
        if (left_ > 0) {
            ask(slot);
        }
    }
    void all_read() {}
    Byte* window(std::uint64_t j) const { return receiver_ ? in_.at(j) : out_.at(j); }

  private:
    void ask(std::uint64_t slot) {
        --left_;
        must(irecv_(in_.at(slot), static_cast<int>(std::max<std::uint64_t>(size_, 8)), names_.byte, other_, 0,
                    names_.world, &coming_[slot]),
             "MPI_Irecv");
    }
    Names names_;
    int other_;
    std::uint64_t size_;
    Buffers out_, in_;
    std::vector<Handle> sent_, coming_;
    std::uint64_t sends_ = 0, takes_ = 0, left_ = 0;
    bool latency_ = false, receiver_ = false;
    int (*isend_)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
    int (*irecv_)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
    int (*wait_)(Handle*, void*) = nullptr;
    int (*all_)(int, Handle*, void*) = nullptr;
};

template <class Names>
class Puts {
  public:
    using Handle = typename Names::Handle;
    Puts(const Side& side, const Joined<Names>& mpi)
        : names_(mpi.names), other_(mpi.other), size_(side.task.size), own_(size_, side.task.window()) {
        int (*create)(void*, std::intptr_t, int, Handle, Handle, Handle*) = nullptr;
        int (*lock)(int, int, int, Handle) = nullptr;
        side.find(create, "MPI_Win_create");
        side.find(lock, "MPI_Win_lock");
        side.find(put_, "MPI_Put");
        side.find(flush_, "MPI_Win_flush");
        side.find(unlock_, "MPI_Win_unlock");
        side.find(free_, "MPI_Win_free");
        side.find(send_, "MPI_Send");
        side.find(receive_, "MPI_Recv");
        must(create(own_.at(0), static_cast<std::intptr_t>(own_.bytes()), 1, names_.no_info, names_.world, &window_),
             "MPI_Win_create");
        if (!side.receiver) {
            must(lock(Names::kShared, other_, 0, window_), "MPI_Win_lock");
        }
    }
    void end() {
        if (other_ == 0) {  // the sender
            must(unlock_(other_, window_), "MPI_Win_unlock");
        }
        must(free_(&window_), "MPI_Win_free");
    }
    Byte* window(std::uint64_t j) const { return own_.at(j); }
    void signal() { notify(); }
    void put(std::uint64_t j) {
        const auto at = static_cast<std::intptr_t>(j * own_.stride());
        must(put_(own_.at(j), static_cast<int>(size_), names_.byte, other_, at, static_cast<int>(size_), names_.byte,
                  window_),
             "MPI_Put");
        // the library keeps what is on the way in a list without end
        constexpr std::uint64_t kEach = 1024;
        if (++puts_ % kEach == 0) {
            must(flush_(other_, window_), "MPI_Win_flush");
        }
    }
    void finish() {
        must(flush_(other_, window_), "MPI_Win_flush");
        notify();
    }
    void await_signal() { be_notified(); }
    void await_end() { be_notified(); }

  private:
    void notify() { must(send_(own_.at(0), 0, names_.byte, other_, 0, names_.world), "MPI_Send"); }
    void be_notified() {
        must(receive_(own_.at(0), 0, names_.byte, other_, 0, names_.world, names_.no_status), "MPI_Recv");
    }
    Names names_;
    int other_;
    std::uint64_t size_, puts_ = 0;
    Buffers own_;
    Handle window_{};
    int (*put_)(const void*, int, Handle, int, std::intptr_t, int, Handle, Handle) = nullptr;
    int (*flush_)(int, Handle) = nullptr;
    int (*unlock_)(int, Handle) = nullptr;
    int (*free_)(Handle*) = nullptr;
    int (*send_)(const void*, int, Handle, int, int, Handle) = nullptr;
    int (*receive_)(void*, int, Handle, int, int, Handle, void*) = nullptr;
};

template <class Names>
void by(Side& side, bool puts) {
    const Joined<Names> mpi(side);
    if (puts) {
        Puts<Names> link(side, mpi);
        placed(side, link);
        link.end();
    } else {
        Messages<Names> link(side, mpi);
        over(side, link);
    }
    mpi.end();
}

void whichever(Side& side, bool puts) {
    if (dlsym(side.library(), "ompi_mpi_comm_world") != nullptr) {
        by<OpenMpi>(side, puts);
    } else {
        by<Mpich>(side, puts);
    }
}

}  // namespace

void mpi(Side& side) { whichever(side, false); }
void mpi_put(Side& side) { whichever(side, true); }

}  // namespace transport
