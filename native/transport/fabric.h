// SPDX-License-Identifier: BSD-3-Clause
// One reliable, unconnected endpoint of libfabric (FI_EP_RDM), with memory for its frames. It belongs to one thread at
// a time.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "transport/fabric_calls.h"
#include "transport/guard.h"
#include "transport/segment.h"

namespace nodewise::transport {

// Loaded once; throws Error(NWT_MISSING) where it is not there.
const FabricCalls& libfabric(const std::string& scheme);

struct FidCloser {
    template <typename Object>
    void operator()(Object* object) const {
        fi_close(&object->fid);
    }
};
template <typename Object>
using Owned = std::unique_ptr<Object, FidCloser>;

// Its memory was left half written by a process that died: this end is of no use any more.
class Broken : public std::runtime_error {
  public:
    Broken()
        : std::runtime_error("the memory that libfabric's processes share was left half written by one that died") {}
};

// What libfabric works at until it says that it is done, with the memory of a frame where it has one.
struct Call {
    fi_context2 context{};  // first: it is what libfabric knows it by
    enum class Kind { kReceive, kSend, kWrite } kind = Kind::kReceive;
    std::byte* frame = nullptr;
    std::uint64_t size = 0;    // of what is sent
    std::uint64_t peer = 0;    // to whom: its cookie
    std::uint64_t number = 0;  // which of those to it
    void* described = nullptr;
};

// Memory that is known to the provider.
struct Region {
    Owned<fid_mr> memory;
    std::uint64_t address = 0, key = 0;  // how the other side knows it
    void* described() const { return memory ? fi_mr_desc(memory.get()) : nullptr; }
};

class Fabric {
  public:
    static constexpr std::uint64_t kFrame = 80 << 10;  // bytes of a frame's memory
    static constexpr int kReceives = 32, kGrowth = 16;

    // `source`: the address of this machine that it is at, empty for any of them; of shm, its name.
    Fabric(const std::string& scheme, const std::string& source);
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;
    ~Fabric();
    // The one of this process that has such a name, if there is one.
    static std::shared_ptr<Fabric> find(std::span<const std::byte> name);
    static std::shared_ptr<Fabric> open(const std::string& scheme, const std::string& source);

    const std::string& provider() const { return provider_; }
    const std::vector<std::byte>& name() const { return name_; }
    fi_addr_t add(std::span<const std::byte> name);
    void remove(fi_addr_t peer) { fi_av_remove(addresses_.get(), &peer, 1, 0); }

    Call& take();  // to be sent
    void give_back(Call& call);
    // False where the provider has no room for it now. Throws Damaged where it never will.
    bool send(Call& call, fi_addr_t to, const Guard* theirs);
    struct Place {
        const std::byte* from;
        std::uint64_t bytes;
        void* described;
        std::uint64_t address, key;
    };
    bool write(Call& call, fi_addr_t to, const Guard* theirs, const Place& place);
    void receive_again(Call& call) { unposted_.push_back(&call); }

    // Whether anything has ended: each is told, with the bytes received, and an error or 0. Throws Broken.
    using Ended = std::function<void(Call&, std::uint64_t, int)>;
    bool read(const Ended& ended);

    // Memory that the other side may write, or that we write from.
    bool wants_local() const { return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }
    Region share(std::byte* data, std::uint64_t bytes, bool theirs);

    const Guard* guard() const { return guard_ ? &*guard_ : nullptr; }  // of shm
    int descriptor() const { return descriptor_; }                      // -1: this provider has none
    bool may_sleep();                                                   // on it

  private:
    using Info = std::unique_ptr<fi_info, void (*)(fi_info*)>;
    void add_calls(Call::Kind kind, int count);
    void must(ssize_t status, const char* what) const;
    bool begun(ssize_t status, const char* what) const;
    ssize_t read_once(std::span<fi_cq_msg_entry> done, fi_cq_err_entry& wrong);

    const FabricCalls& calls_;
    Info info_;
    std::string provider_;
    std::vector<std::byte> name_;
    Owned<fid_fabric> fabric_;
    Owned<fid_domain> domain_;
    Owned<fid_av> addresses_;
    Owned<fid_cq> queue_;
    Owned<fid_ep> end_;
    struct Block {  // of frames
        std::unique_ptr<Call[]> calls;
        std::byte* memory;
        Region region;
    };
    std::vector<Block> blocks_;
    std::vector<Call*> free_, unposted_;
    std::optional<Guard> guard_;
    std::uint64_t keys_ = 0;
    int descriptor_ = -1;
};

}  // namespace nodewise::transport
