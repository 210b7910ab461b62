// SPDX-License-Identifier: BSD-3-Clause
// The ranks that run a study together, joined through whichever MPI library started them. That library is opened when
// the worker runs, so that one worker and one study serve all of them, and neither is linked with any.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace nodewise {

class Ranks {
  public:
    Ranks() = default;
    virtual ~Ranks() = default;
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    [[nodiscard]] virtual int rank() const { return 0; }
    [[nodiscard]] virtual int count() const { return 1; }
    // How many of them are on this node, as their launcher says; 1 where it does not.
    [[nodiscard]] static int on_node();

    // Element by element over all ranks, in place.
    virtual void sum(double* /*values*/, std::size_t /*count*/) {}
    virtual void largest(double* /*values*/, std::size_t /*count*/) {}
    virtual void broadcast(void* /*data*/, std::size_t /*bytes*/, int /*from*/) {}
    virtual void barrier() {}
    // Sends to one rank and receives from another; less than 0 leaves that part out.
    virtual void exchange(const void* out, std::size_t out_bytes, int to, void* in, std::size_t in_bytes, int from);

    // Ends the job together. A rank that ends without it has failed: its launcher then ends the others.
    virtual void leave() {}
};

// Joins the job through an MPI library, a name for the loader or a path; one rank alone where that is empty. Throws
// std::runtime_error where it cannot be opened or used, and where there are not `expected` ranks.
std::unique_ptr<Ranks> join_ranks(const std::string& library, int expected);

// One of so many ranks that does not know the others, for what a rank finds out by itself.
std::unique_ptr<Ranks> lone_rank(int rank, int count);

}  // namespace nodewise
