// SPDX-License-Identifier: BSD-3-Clause
// UCX's tagged messages, active messages and puts, over whatever it chooses between two processes of this machine.
// Its functions are looked for when it runs; what its headers declare, when this is compiled.
#include "libraries.h"

#ifdef NODEWISE_UCX
#include <ucp/api/ucp.h>

#include "drive.h"
#include "place.h"

namespace transport {
namespace {

constexpr ucp_tag_t kData = 1, kNotice = 2, kWholeTag = ~ucp_tag_t{0};

struct Calls {
    explicit Calls(const Side& side) {
        side.find(read_config, "ucp_config_read");
        side.find(drop_config, "ucp_config_release");
        side.find(init, "ucp_init_version");
        side.find(cleanup, "ucp_cleanup");
        side.find(create, "ucp_worker_create");
        side.find(destroy, "ucp_worker_destroy");
        side.find(address, "ucp_worker_get_address");
        side.find(drop_address, "ucp_worker_release_address");
        side.find(connect, "ucp_ep_create");
        side.find(progress, "ucp_worker_progress");
        side.find(wait, "ucp_worker_wait");
        side.find(status, "ucp_request_check_status");
        side.find(free, "ucp_request_free");
        side.find(send, "ucp_tag_send_nbx");
        side.find(receive, "ucp_tag_recv_nbx");
        side.find(flush, "ucp_ep_flush_nbx");
        side.find(handle, "ucp_worker_set_am_recv_handler");
        side.find(send_active, "ucp_am_send_nbx");
        side.find(receive_active, "ucp_am_recv_data_nbx");
        side.find(map, "ucp_mem_map");
        side.find(unmap, "ucp_mem_unmap");
        side.find(query, "ucp_mem_query");
        side.find(pack, "ucp_rkey_pack");
        side.find(drop_packed, "ucp_rkey_buffer_release");
        side.find(unpack, "ucp_ep_rkey_unpack");
        side.find(drop_key, "ucp_rkey_destroy");
        side.find(put, "ucp_put_nbx");
        side.find(explain, "ucs_status_string");
    }
    decltype(&ucp_config_read) read_config;
    decltype(&ucp_config_release) drop_config;
    decltype(&ucp_init_version) init;
    decltype(&ucp_cleanup) cleanup;
    decltype(&ucp_worker_create) create;
    decltype(&ucp_worker_destroy) destroy;
    decltype(&ucp_worker_get_address) address;
    decltype(&ucp_worker_release_address) drop_address;
    decltype(&ucp_ep_create) connect;
    decltype(&ucp_worker_progress) progress;
    decltype(&ucp_worker_wait) wait;
    decltype(&ucp_request_check_status) status;
    decltype(&ucp_request_free) free;
    decltype(&ucp_tag_send_nbx) send;
    decltype(&ucp_tag_recv_nbx) receive;
    decltype(&ucp_ep_flush_nbx) flush;
    decltype(&ucp_worker_set_am_recv_handler) handle;
    decltype(&ucp_am_send_nbx) send_active;
    decltype(&ucp_am_recv_data_nbx) receive_active;
    decltype(&ucp_mem_map) map;
    decltype(&ucp_mem_unmap) unmap;
    decltype(&ucp_mem_query) query;
    decltype(&ucp_rkey_pack) pack;
    decltype(&ucp_rkey_buffer_release) drop_packed;
    decltype(&ucp_ep_rkey_unpack) unpack;
    decltype(&ucp_rkey_destroy) drop_key;
    decltype(&ucp_put_nbx) put;
    decltype(&ucs_status_string) explain;
};

// A worker that has met the other side's.
class Met {
  public:
    explicit Met(Side& side) : calls_(side), spin_(side.task.spin) {
        ucp_config_t* config = nullptr;
        must(calls_.read_config(nullptr, nullptr, &config));
        ucp_params_t params{};
        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
        if (!spin_) {
            params.features |= UCP_FEATURE_WAKEUP;
        }
        must(calls_.init(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_));
        calls_.drop_config(config);
        ucp_worker_params_t shared{};
        shared.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        shared.thread_mode = UCS_THREAD_MODE_SINGLE;
        must(calls_.create(context_, &shared, &worker_));
        ucp_address_t* own = nullptr;
        std::size_t length = 0;
        must(calls_.address(worker_, &own, &length));
        side.tell({reinterpret_cast<const char*>(own), length});
        calls_.drop_address(worker_, own);
        const std::string other = side.hear();
        ucp_ep_params_t where{};
        where.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        where.address = reinterpret_cast<const ucp_address_t*>(other.data());
        must(calls_.connect(worker_, &where, &end_));
    }
    Met(const Met&) = delete;
    Met& operator=(const Met&) = delete;
    ~Met() {
        calls_.destroy(worker_);
        calls_.cleanup(context_);
    }
    void progress() const { calls_.progress(worker_); }

  protected:
    void must(ucs_status_t status) const {
        if (status != UCS_OK) {
            fail(calls_.explain(status));
        }
    }
    void* started(ucs_status_ptr_t request) const {
        if (UCS_PTR_IS_ERR(request)) {
            must(UCS_PTR_STATUS(request));
        }
        return request;
    }
    // Works, until something has come about, and sleeps where it may.
    template <class Done>
    void until(Done done) const {
        constexpr int kLooks = 2000;
        for (int looks = 0; !done(); ++looks) {
            if (calls_.progress(worker_) == 0 && !spin_ && looks > kLooks) {
                calls_.wait(worker_);
            }
        }
    }
    void complete(void*& request) const {
        if (request == nullptr) {
            return;
        }
        ucs_status_t status = UCS_INPROGRESS;
        until([&] { return (status = calls_.status(request)) != UCS_INPROGRESS; });
        calls_.free(std::exchange(request, nullptr));
        must(status);
    }
    void flush_all() const {
        const ucp_request_param_t plain{};
        void* request = started(calls_.flush(end_, &plain));
        complete(request);
    }
    void* ask(Byte* to, std::uint64_t room, ucp_tag_t tag) const {
        const ucp_request_param_t plain{};
        return started(calls_.receive(worker_, to, room, tag, kWholeTag, &plain));
    }
    void* tagged(const Byte* from, std::uint64_t size, ucp_tag_t tag) const {
        const ucp_request_param_t plain{};
        return started(calls_.send(end_, from, size, tag, &plain));
    }

    Calls calls_;
    bool spin_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    ucp_ep_h end_ = nullptr;
};

// What a side sends: so many buffers in turn, each of which is free once its request is.
class Sends : public Met {
  public:
    explicit Sends(Side& side)
        : Met(side), out_(side.task.size, buffers_of(side.task, true)), sent_(out_.count(), nullptr) {}
    Byte* next() {
        complete(sent_[turn_ % out_.count()]);
        return out_.at(turn_);
    }
    void flush() {}
    void finish() {
        for (void*& request : sent_) {
            complete(request);
        }
        flush_all();
    }

  protected:
    Buffers out_;
    std::vector<void*> sent_;
    std::uint64_t turn_ = 0;
};

class Tagged : public Sends {
  public:
    explicit Tagged(Side& side)
        : Sends(side),
          size_(side.task.size),
          in_(size_, buffers_of(side.task, true)),
          coming_(in_.count(), nullptr),
          receives_(side.receiver || side.task.kind == Class::kLatency),
          left_(side.task.messages + (side.task.kind == Class::kLatency ? 0 : 1)) {
        for (std::uint64_t i = 0; receives_ && i < in_.count() && left_ > 0; ++i) {
            --left_;
            coming_[i] = ask(in_.at(i), in_.stride(), kData);
        }
    }
    void post(std::uint64_t size) {
        sent_[turn_ % out_.count()] = tagged(out_.at(turn_), size, kData);
        ++turn_;
    }
    const Byte* take(std::uint64_t) {
        complete(coming_[takes_ % in_.count()]);
        return in_.at(takes_);
    }
    void done() {
        if (left_ > 0) {
            --left_;
            coming_[takes_ % in_.count()] = ask(in_.at(takes_), in_.stride(), kData);
        }
        ++takes_;
    }
    void all_read() {}
    Byte* window(std::uint64_t j) const { return receives_ ? in_.at(j) : out_.at(j); }

  private:
    std::uint64_t size_;
    Buffers in_;
    std::vector<void*> coming_;
    bool receives_;
    std::uint64_t left_, takes_ = 0;
};

// What arrives is copied into a buffer of this side's own by the library's call, or fetched into it.
class Active : public Sends {
  public:
    explicit Active(Side& side)
        : Sends(side), size_(side.task.size), in_(size_, buffers(side.task)), coming_(in_.count(), nullptr) {
        ucp_am_handler_param_t how{};
        how.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
        how.id = kId;
        how.cb = arrived;
        how.arg = this;
        must(calls_.handle(worker_, &how));
        window_ = side.receiver ? &in_ : &out_;
    }
    void post(std::uint64_t size) {
        const ucp_request_param_t plain{};
        sent_[turn_ % out_.count()] = started(calls_.send_active(end_, kId, nullptr, 0, out_.at(turn_), size, &plain));
        ++turn_;
    }
    const Byte* take(std::uint64_t) {
        until([this] { return arrived_ > takes_; });
        complete(coming_[takes_ % in_.count()]);
        return in_.at(takes_);
    }
    void done() { ++takes_; }
    void all_read() {}
    Byte* window(std::uint64_t j) const { return window_->at(j); }

  private:
    static constexpr unsigned kId = 1;
    static std::uint64_t buffers(const Task& task) {
        if (task.kind == Class::kOneSided) {
            return task.window();
        }
        // more than arrive while it looks once
        constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;
        return std::clamp<std::uint64_t>(kBytes / task.size, 4, 1024);
    }
    static ucs_status_t arrived(void* own, const void*, std::size_t, void* data, std::size_t length,
                                const ucp_am_recv_param_t* how) {
        auto& self = *static_cast<Active*>(own);
        const std::uint64_t turn = self.arrived_++;
        if (length > self.in_.stride() || turn - self.takes_ >= self.in_.count()) {
            return UCS_ERR_NO_MEMORY;
        }
        Byte* to = self.in_.at(turn);
        if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
            std::memcpy(to, data, length);
            return UCS_OK;
        }
        const ucp_request_param_t plain{};
        self.coming_[turn % self.in_.count()] = self.calls_.receive_active(self.worker_, data, to, length, &plain);
        return UCS_INPROGRESS;
    }
    std::uint64_t size_;
    Buffers in_;
    std::vector<void*> coming_;
    const Buffers* window_ = nullptr;
    std::uint64_t arrived_ = 0, takes_ = 0;
};

// Puts into memory that the receiver has had the library allocate, so that both can map it.
class Puts : public Met {
  public:
    explicit Puts(Side& side)
        : Met(side), size_(side.task.size), own_(size_, side.receiver ? 1 : side.task.window()), on_way_(64, nullptr) {
        side.receiver ? offer(side) : accept(side);
    }
    ~Puts() {
        if (key_ != nullptr) {
            calls_.drop_key(key_);
        }
        if (memory_ != nullptr) {
            calls_.unmap(context_, memory_);
        }
    }
    Puts(const Puts&) = delete;
    Puts& operator=(const Puts&) = delete;
    Byte* window(std::uint64_t j) const { return window_ != nullptr ? window_ + j * own_.stride() : own_.at(j); }
    void signal() { notify(); }
    void put(std::uint64_t j) {
        const ucp_request_param_t plain{};
        void*& request = on_way_[puts_++ % on_way_.size()];
        complete(request);
        request = started(calls_.put(end_, own_.at(j), size_, remote_ + j * own_.stride(), key_, &plain));
    }
    void finish() {
        for (void*& request : on_way_) {
            complete(request);
        }
        flush_all();
        notify();
    }
    void await_signal() { be_notified(); }
    void await_end() { be_notified(); }

  private:
    void offer(Side& side) {
        ucp_mem_map_params_t how{};
        how.field_mask =
            UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
        how.length = own_.stride() * side.task.window();
        how.flags = UCP_MEM_MAP_ALLOCATE;
        must(calls_.map(context_, &how, &memory_));
        ucp_mem_attr_t about{};
        about.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
        must(calls_.query(memory_, &about));
        window_ = static_cast<Byte*>(about.address);
        std::memset(window_, 0, how.length);
        void* packed = nullptr;
        std::size_t length = 0;
        must(calls_.pack(context_, memory_, &packed, &length));
        const auto where = reinterpret_cast<std::uint64_t>(window_);
        side.tell({reinterpret_cast<const char*>(&where), sizeof where});
        side.tell({static_cast<const char*>(packed), length});
        calls_.drop_packed(packed);
    }
    void accept(Side& side) {
        std::memcpy(&remote_, side.hear().data(), sizeof remote_);
        const std::string packed = side.hear();
        must(calls_.unpack(end_, packed.data(), &key_));
    }
    void notify() {
        void* request = tagged(own_.at(0), 1, kNotice);
        complete(request);
        flush_all();
    }
    void be_notified() {
        Byte notice = 0;
        void* request = ask(&notice, 1, kNotice);
        complete(request);
    }
    std::uint64_t size_;
    Buffers own_;
    std::vector<void*> on_way_;
    std::uint64_t puts_ = 0, remote_ = 0;
    ucp_mem_h memory_ = nullptr;
    ucp_rkey_h key_ = nullptr;
    Byte* window_ = nullptr;
};

}  // namespace

void ucx_tag(Side& side) {
    Tagged link(side);
    over(side, link, [&] { link.progress(); });
}

void ucx_am(Side& side) {
    Active link(side);
    over(side, link, [&] { link.progress(); });
}

void ucx_put(Side& side) {
    Puts link(side);
    placed(side, link, [&] { link.progress(); });
}

}  // namespace transport

#else

namespace transport {
namespace {
constexpr const char* kWhy = "the study was compiled without UCX's headers";
}
void ucx_tag(Side&) { fail(kWhy); }
void ucx_am(Side&) { fail(kWhy); }
void ucx_put(Side&) { fail(kWhy); }
}  // namespace transport

#endif
