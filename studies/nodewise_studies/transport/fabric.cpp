// SPDX-License-Identifier: BSD-3-Clause
// libfabric's messages and remote writes, by a provider that is named: `shm`, and `tcp` with `ofi_rxm` above it.
#include "libraries.h"

#ifdef NODEWISE_LIBFABRIC
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstdlib>

#include "drive.h"
#include "place.h"

namespace transport {
namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 11);

// What a call is known by when it has completed.
struct Call {
    fi_context2 context;
    bool on_way = false;
};

class Endpoint {
  public:
    Endpoint(Side& side, const char* provider, bool writes) {
        side.find(explain_, "fi_strerror");
        find_provider(side, provider, writes);
        int (*open)(fi_fabric_attr*, fid_fabric**, void*) = nullptr;
        side.find(open, "fi_fabric");
        must(open(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
        must(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
        fi_av_attr table{};
        table.type = FI_AV_TABLE;
        must(fi_av_open(domain_, &table, &addresses_, nullptr), "fi_av_open");
        fi_cq_attr queue{};
        queue.format = FI_CQ_FORMAT_CONTEXT;
        queue.wait_obj = FI_WAIT_NONE;
        must(fi_cq_open(domain_, &queue, &queue_, nullptr), "fi_cq_open");
        must(fi_endpoint(domain_, info_, &end_, nullptr), "fi_endpoint");
        must(fi_ep_bind(end_, &addresses_->fid, 0), "fi_ep_bind");
        must(fi_ep_bind(end_, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
        must(fi_enable(end_), "fi_enable");
        std::array<char, 512> name{};
        std::size_t length = name.size();
        must(fi_getname(&end_->fid, name.data(), &length), "fi_getname");
        // where a process dies, what this provider keeps in /dev/shm stays
        if (std::string(provider) == "shm") {
            const std::string text(name.data(), strnlen(name.data(), length));
            side.loses("/dev/shm/" + text.substr(text.rfind('/') == std::string::npos ? 0 : text.rfind('/') + 1));
        }
        side.tell({name.data(), length});
        const std::string there = side.hear();
        if (fi_av_insert(addresses_, there.data(), 1, &other_, 0, nullptr) != 1) {
            fail("fi_av_insert: the other side's address is refused");
        }
    }
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    ~Endpoint() {
        for (fid* one : {&end_->fid, &queue_->fid, &addresses_->fid, &domain_->fid, &fabric_->fid}) {
            fi_close(one);
        }
    }
    // Reads the completion queue, without which a provider does nothing.
    void progress() {
        std::array<fi_cq_entry, 16> ended{};
        const ssize_t count = fi_cq_read(queue_, ended.data(), ended.size());
        if (count == -FI_EAGAIN) {
            return;
        }
        if (count == -FI_EAVAIL) {
            fi_cq_err_entry wrong{};
            fi_cq_readerr(queue_, &wrong, 0);
            fail(std::string("a transfer failed: ") + explain_(wrong.err));
        }
        must(static_cast<int>(count < 0 ? count : 0), "fi_cq_read");
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            static_cast<Call*>(ended.at(i).op_context)->on_way = false;
        }
    }

  protected:
    void must(int status, const char* call) const {
        if (status < 0) {
            fail(std::string(call) + ": " + explain_(-status));
        }
    }
    void complete(const Call& call) {
        while (call.on_way) {
            progress();
        }
    }
    // Starts a transfer, as soon as the provider has room for one.
    template <class Begin>
    void start(Call& call, const char* name, Begin begin) {
        call.on_way = true;
        ssize_t status = 0;
        while ((status = begin()) == -FI_EAGAIN) {
            progress();
        }
        must(static_cast<int>(status), name);
    }
    void send(Call& call, const Byte* from, std::uint64_t size, void* described) {
        start(call, "fi_send", [&] { return fi_send(end_, from, size, described, other_, &call.context); });
    }
    void ask(Call& call, Byte* to, std::uint64_t room, void* described) {
        start(call, "fi_recv", [&] { return fi_recv(end_, to, room, described, other_, &call.context); });
    }
    // Null where the provider wants no memory made known to it.
    void* describe(const Buffers& buffers) {
        if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) {
            return nullptr;
        }
        fid_mr* region = nullptr;
        must(fi_mr_reg(domain_, buffers.at(0), buffers.bytes(), FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0, ++keys_, 0,
                       &region, nullptr),
             "fi_mr_reg");
        return fi_mr_desc(region);
    }

    fi_info* info_ = nullptr;
    fid_domain* domain_ = nullptr;
    fid_ep* end_ = nullptr;
    fi_addr_t other_ = 0;
    std::uint64_t keys_ = 100;

  private:
    void find_provider(Side& side, const char* provider, bool writes) {
        fi_info* (*copy)(const fi_info*) = nullptr;
        int (*offered)(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info*, fi_info**) = nullptr;
        side.find(copy, "fi_dupinfo");
        side.find(offered, "fi_getinfo");
        fi_info* hints = copy(nullptr);
        hints->ep_attr->type = FI_EP_RDM;
        hints->caps = FI_MSG | (writes ? FI_RMA : 0);
        hints->mode = FI_CONTEXT | FI_CONTEXT2;
        hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
        if (writes) {
            hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;  // it is there, before the other side is told
        }
        hints->fabric_attr->prov_name = strdup(provider);
        const bool tcp = std::string(provider) != "shm";
        must(offered(kVersion, tcp ? "127.0.0.1" : nullptr, nullptr, tcp ? FI_SOURCE : 0, hints, &info_),
             (std::string("no provider ") + provider).c_str());
    }
    const char* (*explain_)(int) = nullptr;
    fid_fabric* fabric_ = nullptr;
    fid_av* addresses_ = nullptr;
    fid_cq* queue_ = nullptr;
};

class Messages : public Endpoint {
  public:
    Messages(Side& side, const char* provider)
        : Endpoint(side, provider, false),
          out_(side.task.size, buffers_of(side.task, true)),
          in_(side.task.size, buffers_of(side.task, true)),
          sent_(out_.count()),
          coming_(in_.count()),
          out_described_(describe(out_)),
          in_described_(describe(in_)),
          receives_(side.receiver || side.task.kind == Class::kLatency),
          left_(side.task.messages + (side.task.kind == Class::kLatency ? 0 : 1)) {
        if (std::max<std::uint64_t>(side.task.size, 8) > info_->ep_attr->max_msg_size) {
            fail("its messages have " + std::to_string(info_->ep_attr->max_msg_size) + " bytes at most");
        }
        for (std::uint64_t i = 0; receives_ && i < in_.count() && left_ > 0; ++i) {
            ask_for(i);
        }
    }
    Byte* next() {
        complete(sent_[turn_ % out_.count()]);
        return out_.at(turn_);
    }
    void post(std::uint64_t size) {
        send(sent_[turn_ % out_.count()], out_.at(turn_), size, out_described_);
        ++turn_;
    }
    void flush() {}
    void finish() {
        for (const Call& call : sent_) {
            complete(call);
        }
    }
    const Byte* take(std::uint64_t) {
        complete(coming_[takes_ % in_.count()]);
        return in_.at(takes_);
    }
    void done() {
        if (left_ > 0) {
            ask_for(takes_ % in_.count());
        }
        ++takes_;
    }
    void all_read() {}
    Byte* window(std::uint64_t j) const { return receives_ ? in_.at(j) : out_.at(j); }

  private:
    void ask_for(std::uint64_t slot) {
        --left_;
        ask(coming_[slot], in_.at(slot), in_.stride(), in_described_);
    }
    Buffers out_, in_;
    std::vector<Call> sent_, coming_;
    void* out_described_;
    void* in_described_;
    bool receives_;
    std::uint64_t left_, turn_ = 0, takes_ = 0;
};

class Writes : public Endpoint {
  public:
    Writes(Side& side, const char* provider)
        : Endpoint(side, provider, true),
          size_(side.task.size),
          own_(size_, side.task.window()),
          on_way_(64),
          described_(describe(own_)) {
        side.receiver ? offer(side) : accept(side);
    }
    ~Writes() {
        if (region_ != nullptr) {
            fi_close(&region_->fid);
        }
    }
    Writes(const Writes&) = delete;
    Writes& operator=(const Writes&) = delete;
    Byte* window(std::uint64_t j) const { return own_.at(j); }
    void signal() { notify(); }
    void put(std::uint64_t j) {
        Call& call = on_way_[puts_++ % on_way_.size()];
        complete(call);
        const std::uint64_t at = remote_.address + j * own_.stride();
        start(call, "fi_write",
              [&] { return fi_write(end_, own_.at(j), size_, described_, other_, at, remote_.key, &call.context); });
    }
    void finish() {
        for (const Call& call : on_way_) {
            complete(call);
        }
        notify();
    }
    void await_signal() { complete(signal_); }
    void await_end() { complete(ending_); }

  private:
    struct Window {
        std::uint64_t address, key;
    };
    void offer(Side& side) {
        must(fi_mr_reg(domain_, own_.at(0), own_.bytes(), FI_REMOTE_WRITE, 0, 1, 0, &region_, nullptr), "fi_mr_reg");
        const bool by_address = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
        remote_ = {by_address ? reinterpret_cast<std::uint64_t>(own_.at(0)) : 0, fi_mr_key(region_)};
        ask(signal_, notices_.at(0), notices_.stride(), nullptr);
        ask(ending_, notices_.at(1), notices_.stride(), nullptr);
        side.tell({reinterpret_cast<const char*>(&remote_), sizeof remote_});
    }
    void accept(Side& side) {
        const std::string told = side.hear();
        std::memcpy(&remote_, told.data(), std::min(told.size(), sizeof remote_));
    }
    void notify() {
        send(notice_, notices_.at(0), 8, nullptr);
        complete(notice_);
    }
    std::uint64_t size_, puts_ = 0;
    Buffers own_, notices_{8, 2};
    std::vector<Call> on_way_;
    void* described_;
    Call notice_{}, signal_{}, ending_{};
    fid_mr* region_ = nullptr;
    Window remote_{};
};

void messages(Side& side, const char* provider) {
    Messages link(side, provider);
    over(side, link, [&] { link.progress(); });
}

void writes(Side& side, const char* provider) {
    Writes link(side, provider);
    placed(side, link, [&] { link.progress(); });
}

constexpr const char* kShm = "shm";
constexpr const char* kTcp = "tcp;ofi_rxm";

}  // namespace

void ofi_shm(Side& side) { messages(side, kShm); }
void ofi_tcp(Side& side) { messages(side, kTcp); }
void ofi_shm_write(Side& side) { writes(side, kShm); }
void ofi_tcp_write(Side& side) { writes(side, kTcp); }

}  // namespace transport

#else

namespace transport {
namespace {
constexpr const char* kWhy = "the study was compiled without libfabric's headers";
}
void ofi_shm(Side&) { fail(kWhy); }
void ofi_tcp(Side&) { fail(kWhy); }
void ofi_shm_write(Side&) { fail(kWhy); }
void ofi_tcp_write(Side&) { fail(kWhy); }
}  // namespace transport

#endif
