// SPDX-License-Identifier: BSD-3-Clause
#include "worker/ranks.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace nodewise {
namespace {

// MPI counts in int.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

// What an MPI library calls the things that a call needs. Handles are addresses in Open MPI, numbers in MPICH and what
// keeps to its binary interface.
template <typename Handle>
struct Names {
    Handle world;
    Handle byte;
    Handle real;
    Handle sum;
    Handle largest;
    void* in_place;
    void* no_status;
    int nobody;
};

// As Open MPI's mpi.h defines them: MPI_COMM_WORLD is the address of ompi_mpi_comm_world, and so on.
Names<void*> open_mpi_names(void* library) {
    const auto address = [&](const char* name) {
        void* found = dlsym(library, name);
        if (found == nullptr) {
            throw std::runtime_error(std::string("the MPI library has no ") + name);
        }
        return found;
    };
    // NOLINTBEGIN(performance-no-int-to-ptr): that is what the numbers are
    return {address("ompi_mpi_comm_world"),
            address("ompi_mpi_byte"),
            address("ompi_mpi_double"),
            address("ompi_mpi_op_sum"),
            address("ompi_mpi_op_max"),
            reinterpret_cast<void*>(std::intptr_t{1}),
            nullptr,
            -2};
    // NOLINTEND(performance-no-int-to-ptr)
}

// As MPICH's mpi.h defines them, alike in all that keep to the MPICH ABI (www.mpich.org/abi).
Names<int> mpich_names() {
    // NOLINTBEGIN(performance-no-int-to-ptr): that is what the numbers are
    return {0x44000000,
            0x4c00010d,
            0x4c00080b,
            0x58000003,
            0x58000001,
            reinterpret_cast<void*>(std::intptr_t{-1}),
            reinterpret_cast<void*>(std::intptr_t{1}),
            -1};
    // NOLINTEND(performance-no-int-to-ptr)
}

template <typename Handle>
class Joined final : public Ranks {
  public:
    Joined(void* library, const Names<Handle>& names) : library_(library), names_(names) {
        must(function<int (*)(Handle, int*)>("MPI_Comm_rank")(names_.world, &rank_), "MPI_Comm_rank");
        must(function<int (*)(Handle, int*)>("MPI_Comm_size")(names_.world, &count_), "MPI_Comm_size");
        reduce_ = function<Reduce>("MPI_Allreduce");
        broadcast_ = function<Broadcast>("MPI_Bcast");
        barrier_ = function<Barrier>("MPI_Barrier");
        exchange_ = function<Exchange>("MPI_Sendrecv");
    }

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int count() const override { return count_; }

    void sum(double* values, std::size_t count) override { reduce(values, count, names_.sum); }
    void largest(double* values, std::size_t count) override { reduce(values, count, names_.largest); }

    void broadcast(void* data, std::size_t bytes, int from) override {
        for (std::size_t at = 0; at < bytes; at += kMostAtOnce) {
            const int part = static_cast<int>(std::min(kMostAtOnce, bytes - at));
            must(broadcast_(static_cast<char*>(data) + at, part, names_.byte, from, names_.world), "MPI_Bcast");
        }
    }

    void barrier() override { must(barrier_(names_.world), "MPI_Barrier"); }

    void exchange(const void* out, std::size_t out_bytes, int to, void* in, std::size_t in_bytes, int from) override {
        constexpr int kTag = 0;
        const std::size_t sent = to < 0 ? 0 : out_bytes;
        const std::size_t received = from < 0 ? 0 : in_bytes;
        const auto part_of = [](std::size_t bytes, std::size_t at) {
            return static_cast<int>(at < bytes ? std::min(kMostAtOnce, bytes - at) : 0);
        };
        // who has no more to send or to receive leaves that part out of a further message
        for (std::size_t at = 0; at == 0 || at < std::max(sent, received); at += kMostAtOnce) {
            const int receiver = to < 0 || (at > 0 && at >= sent) ? names_.nobody : to;
            const int sender = from < 0 || (at > 0 && at >= received) ? names_.nobody : from;
            must(exchange_(static_cast<const char*>(out) + std::min(at, sent), part_of(sent, at), names_.byte, receiver,
                           kTag, static_cast<char*>(in) + std::min(at, received), part_of(received, at), names_.byte,
                           sender, kTag, names_.world, names_.no_status),
                 "MPI_Sendrecv");
        }
    }

    void leave() override { must(function<int (*)()>("MPI_Finalize")(), "MPI_Finalize"); }

  private:
    using Reduce = int (*)(const void*, void*, int, Handle, Handle, Handle);
    using Broadcast = int (*)(void*, int, Handle, int, Handle);
    using Barrier = int (*)(Handle);
    using Exchange = int (*)(const void*, int, Handle, int, int, void*, int, Handle, int, int, Handle, void*);

    void* library_;
    Names<Handle> names_;
    int rank_ = 0;
    int count_ = 1;
    Reduce reduce_ = nullptr;
    Broadcast broadcast_ = nullptr;
    Barrier barrier_ = nullptr;
    Exchange exchange_ = nullptr;

    template <typename Function>
    Function function(const char* name) const {
        void* found = dlsym(library_, name);
        if (found == nullptr) {
            throw std::runtime_error(std::string("the MPI library has no ") + name);
        }
        return reinterpret_cast<Function>(found);
    }

    static void must(int status, const char* call) {
        if (status != 0) {
            throw std::runtime_error(std::string(call) + " failed with error " + std::to_string(status));
        }
    }

    void reduce(double* values, std::size_t count, Handle operation) {
        for (std::size_t at = 0; at < count; at += kMostAtOnce) {
            const int part = static_cast<int>(std::min(kMostAtOnce, count - at));
            must(reduce_(names_.in_place, values + at, part, names_.real, operation, names_.world), "MPI_Allreduce");
        }
    }
};

class Lone final : public Ranks {
  public:
    Lone(int rank, int count) : rank_(rank), count_(count) {}
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int count() const override { return count_; }

  private:
    int rank_;
    int count_;
};

std::unique_ptr<Ranks> joined(const std::string& name) {
    // opened for good, and for all: its own parts look for each other
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        throw std::runtime_error(std::string("cannot load the MPI library: ") + dlerror());  // NOLINT: one thread
    }
    using Init = int (*)(int*, char***, int, int*);
    auto* init = reinterpret_cast<Init>(dlsym(library, "MPI_Init_thread"));
    if (init == nullptr) {
        throw std::runtime_error(name + " is no MPI library");
    }
    constexpr int kFunneled = 1;  // one thread calls it
    int given = 0;
    if (init(nullptr, nullptr, kFunneled, &given) != 0) {
        throw std::runtime_error(name + ": MPI_Init_thread failed");
    }
    if (dlsym(library, "ompi_mpi_comm_world") != nullptr) {
        return std::make_unique<Joined<void*>>(library, open_mpi_names(library));
    }
    return std::make_unique<Joined<int>>(library, mpich_names());
}

}  // namespace

int Ranks::on_node() {
    // of Open MPI, of MPICH's and Intel's hydra
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
        const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
        const long number = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
        if (number > 0) {
            return static_cast<int>(number);
        }
    }
    return 1;
}

void Ranks::exchange(const void* out, std::size_t out_bytes, int to, void* in, std::size_t in_bytes, int from) {
    if (to >= 0 && from >= 0) {
        std::memmove(in, out, std::min(out_bytes, in_bytes));
    }
}

std::unique_ptr<Ranks> join_ranks(const std::string& library, int expected) {
    auto ranks = library.empty() ? std::make_unique<Ranks>() : joined(library);
    if (ranks->count() != expected) {
        throw std::runtime_error("this is rank " + std::to_string(ranks->rank()) + " of " +
                                 std::to_string(ranks->count()) + " by " + (library.empty() ? "no MPI" : library) +
                                 ", and there should be " + std::to_string(expected) +
                                 "\nhint: the launcher and the library are of different MPIs");
    }
    return ranks;
}

std::unique_ptr<Ranks> lone_rank(int rank, int count) { return std::make_unique<Lone>(rank, count); }

}  // namespace nodewise
