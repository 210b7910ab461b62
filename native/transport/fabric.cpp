// SPDX-License-Identifier: BSD-3-Clause
#include "transport/fabric.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "transport/error.h"

namespace nodewise::transport {

namespace {

constexpr std::uint32_t kInterface = FI_VERSION(1, 11);
constexpr std::size_t kMostName = 256;
constexpr std::size_t kQueued = 128;  // calls of each kind that a provider has to take

// What libraries that are loaded, and providers that begin, do to handlers of signals is taken back.
class Handlers {
  public:
    Handlers() {
        for (std::size_t signal = 1; signal < kSignals; ++signal) {
            known_.at(signal) = sigaction(static_cast<int>(signal), nullptr, &before_.at(signal)) == 0;
        }
    }
    Handlers(const Handlers&) = delete;
    Handlers& operator=(const Handlers&) = delete;
    ~Handlers() {
        for (std::size_t signal = 1; signal < kSignals; ++signal) {
            struct sigaction now{};
            if (known_.at(signal) && sigaction(static_cast<int>(signal), nullptr, &now) == 0 &&
                now.sa_handler != before_.at(signal).sa_handler) {
                sigaction(static_cast<int>(signal), &before_.at(signal), nullptr);
            }
        }
    }

  private:
    static constexpr std::size_t kSignals = 65;
    std::array<struct sigaction, kSignals> before_{};
    std::array<bool, kSignals> known_{};
};

// To memory that several processes write; where there is none, one is in at once.
class Visit {
  public:
    explicit Visit(const Guard* guard) : guard_(guard), entry_(guard == nullptr ? Guard::Entry::kIn : guard->enter()) {}
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() {
        if (guard_ != nullptr && in()) {
            guard_->leave();
        }
    }
    bool in() const { return entry_ == Guard::Entry::kIn; }
    bool broken() const { return entry_ == Guard::Entry::kBroken; }

  private:
    const Guard* guard_;
    Guard::Entry entry_;
};

std::mutex beginning;
bool begun_shm = false;  // below it

std::mutex known_mutex;
std::map<std::vector<std::byte>, std::weak_ptr<Fabric>> known;  // below it

// The module beside this library.
const FabricCalls* load() {
    static const int here = 0;
    Dl_info found{};
    if (dladdr(&here, &found) == 0 || found.dli_fname == nullptr) {
        return nullptr;
    }
    std::string path = found.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + "libnodewise-transport-fabric.so";
    const Handlers kept;
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
        return nullptr;
    }
    const auto* calls = static_cast<const FabricCalls*>(dlsym(module, kFabricCalls));
    if (calls != nullptr) {
        fi_info* all = nullptr;  // each provider begins with the first question
        if (calls->getinfo(kInterface, nullptr, nullptr, 0, nullptr, &all) == 0) {
            calls->freeinfo(all);
        }
    }
    return calls;
}

// Named in full, so that both sides come to the same, whatever else there is.
const char* provider_of(const std::string& scheme) {
    return scheme == "ofi+shm" ? "shm" : (scheme == "ofi+verbs" ? "verbs;ofi_rxm" : "tcp;ofi_rxm");
}

std::string missing(const std::string& scheme, const std::string& source, const std::string& provider) {
    if (scheme == "ofi+verbs") {
        return "ofi+verbs:// needs an RDMA device with the address " + source +
               ", which libfabric's provider verbs does not find here: `nodewise fabric` shows what there is (Debian: "
               "ibverbs-providers)";
    }
    if (scheme == "ofi+shm") {
        return "ofi+shm:// needs libfabric's provider shm and room in /dev/shm, and there is none";
    }
    return scheme + ":// needs libfabric's provider " + provider + ", which is not there at the address " + source;
}

}  // namespace

const FabricCalls& libfabric(const std::string& scheme) {
    static const FabricCalls* const calls = load();
    if (calls == nullptr) {
        throw Error(NWT_MISSING, scheme +
                                     ":// needs libfabric, which cannot be loaded: install nodewise-transport (Debian: "
                                     "libfabric1)");
    }
    return *calls;
}

Fabric::Fabric(const std::string& scheme, const std::string& source)
    : calls_(libfabric(scheme)), info_(nullptr, calls_.freeinfo), provider_(provider_of(scheme)) {
    const Info hints(calls_.dupinfo(nullptr), calls_.freeinfo);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->size = kQueued;
    hints->rx_attr->size = kQueued;
    hints->fabric_attr->prov_name = strdup(provider_.c_str());
    if (scheme != "ofi+shm") {
        hints->addr_format = FI_SOCKADDR_IN;
    }
    fi_info* found = nullptr;
    const int status = calls_.getinfo(kInterface, source.empty() ? nullptr : source.c_str(), nullptr,
                                      source.empty() ? 0 : FI_SOURCE, hints.get(), &found);
    if (status != 0) {
        throw Error(NWT_MISSING, missing(scheme, source.empty() ? "that was asked for" : source, provider_));
    }
    info_.reset(found);
    fid_fabric* fabric = nullptr;
    must(calls_.fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    must(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
    domain_.reset(domain);
    fi_av_attr table{};
    table.type = FI_AV_TABLE;
    fid_av* addresses = nullptr;
    must(fi_av_open(domain, &table, &addresses, nullptr), "fi_av_open");
    addresses_.reset(addresses);
    fi_cq_attr queue_wanted{};
    queue_wanted.format = FI_CQ_FORMAT_MSG;
    queue_wanted.wait_obj = scheme == "ofi+shm" ? FI_WAIT_NONE : FI_WAIT_FD;
    fid_cq* queue = nullptr;
    must(fi_cq_open(domain, &queue_wanted, &queue, nullptr), "fi_cq_open");
    queue_.reset(queue);
    if (queue_wanted.wait_obj == FI_WAIT_FD) {
        must(fi_control(&queue->fid, FI_GETWAIT, &descriptor_), "FI_GETWAIT");
    }
    fid_ep* end = nullptr;
    {
        const std::scoped_lock lock(beginning);
        std::optional<Handlers> kept;
        if (scheme == "ofi+shm" && !std::exchange(begun_shm, true)) {
            kept.emplace();  // it sets its own with its first endpoint
        }
        must(fi_endpoint(domain, info_.get(), &end, nullptr), "fi_endpoint");
    }
    end_.reset(end);
    must(fi_ep_bind(end, &addresses->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(end, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(end), "fi_enable");
    name_.resize(kMostName);
    std::size_t length = name_.size();
    must(fi_getname(&end->fid, name_.data(), &length), "fi_getname");
    name_.resize(length);
    if (scheme == "ofi+shm") {
        guard_.emplace();
    }
    add_calls(Call::Kind::kReceive, kReceives);
}

std::shared_ptr<Fabric> Fabric::open(const std::string& scheme, const std::string& source) {
    auto opened = std::make_shared<Fabric>(scheme, source);
    const std::scoped_lock lock(known_mutex);
    known[opened->name_] = opened;
    return opened;
}

std::shared_ptr<Fabric> Fabric::find(std::span<const std::byte> name) {
    const std::scoped_lock lock(known_mutex);
    const auto found = known.find({name.begin(), name.end()});
    return found == known.end() ? nullptr : found->second.lock();
}

Fabric::~Fabric() {
    {
        const std::scoped_lock lock(known_mutex);
        known.erase(name_);
    }
    end_.reset();
    for (Block& block : blocks_) {
        block.region.memory.reset();
        munmap(block.memory, kFrame * kGrowth);
    }
}

void Fabric::must(ssize_t status, const char* what) const {
    if (status < 0) {
        throw Error(NWT_SYSTEM, std::string("libfabric's ") + provider_ + " has no " + what + ": " +
                                    calls_.strerror(static_cast<int>(-status)));
    }
}

bool Fabric::begun(ssize_t status, const char* what) const {
    if (status == -FI_EAGAIN) {
        return false;
    }
    if (status < 0) {
        throw Damaged(std::string(what) + " to it failed: " + calls_.strerror(static_cast<int>(-status)));
    }
    return true;
}

// In blocks, each of which is made known to the provider at once.
void Fabric::add_calls(Call::Kind kind, int count) {
    for (; count > 0; count -= kGrowth) {
        void* memory = mmap(nullptr, kFrame * kGrowth, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            fail_system("no memory for frames");
        }
        blocks_.push_back(
            {.calls = std::make_unique<Call[]>(kGrowth), .memory = static_cast<std::byte*>(memory), .region = {}});
        Block& block = blocks_.back();
        if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
            block.region = share(block.memory, kFrame * kGrowth, false);
        }
        for (int i = 0; i < kGrowth; ++i) {
            Call& call = block.calls[static_cast<std::size_t>(i)];
            call.kind = kind;
            call.frame = block.memory + (kFrame * static_cast<std::uint64_t>(i));
            call.described = block.region.described();
            if (kind == Call::Kind::kReceive) {
                receive_again(call);
            } else {
                free_.push_back(&call);
            }
        }
    }
}

fi_addr_t Fabric::add(std::span<const std::byte> name) {
    fi_addr_t peer = FI_ADDR_UNSPEC;
    if (name.size() != name_.size() && info_->addr_format != FI_ADDR_STR) {
        throw Damaged("it has said an address of another kind");
    }
    const int added = fi_av_insert(addresses_.get(), name.data(), 1, &peer, 0, nullptr);
    if (added != 1) {
        throw Error(NWT_SYSTEM, "libfabric's " + provider_ + " does not take the other side's address");
    }
    return peer;
}

Call& Fabric::take() {
    if (free_.empty()) {
        add_calls(Call::Kind::kSend, kGrowth);
    }
    Call& call = *free_.back();
    free_.pop_back();
    return call;
}

void Fabric::give_back(Call& call) { free_.push_back(&call); }

bool Fabric::send(Call& call, fi_addr_t to, const Guard* theirs) {
    const Visit visit(theirs);
    call.kind = Call::Kind::kSend;
    return visit.in() &&
           begun(fi_send(end_.get(), call.frame, call.size, call.described, to, &call.context), "sending");
}

bool Fabric::write(Call& call, fi_addr_t to, const Guard* theirs, const Place& place) {
    const Visit visit(theirs);
    if (!visit.in()) {
        return false;
    }
    call.kind = Call::Kind::kWrite;
    iovec local{.iov_base = const_cast<std::byte*>(place.from), .iov_len = place.bytes};
    void* described = place.described;
    fi_rma_iov remote{.addr = place.address, .len = place.bytes, .key = place.key};
    fi_msg_rma message{};
    message.msg_iov = &local;
    message.desc = &described;
    message.iov_count = 1;
    message.addr = to;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.context = &call.context;
    // it is there before the other side is told; shm has written it when the call returns, and would ask the other side
    // to do so if it were asked for more
    const std::uint64_t flags = FI_COMPLETION | (guard_ ? 0 : FI_DELIVERY_COMPLETE);
    return begun(fi_writemsg(end_.get(), &message, flags), "writing");
}

// Makes room for what comes, and asks what has ended.
ssize_t Fabric::read_once(std::span<fi_cq_msg_entry> done, fi_cq_err_entry& wrong) {
    const Visit visit(guard());
    if (visit.broken()) {
        throw Broken();
    }
    if (!visit.in()) {
        return -FI_EBUSY;
    }
    while (!unposted_.empty()) {
        Call& call = *unposted_.back();
        const ssize_t status = fi_recv(end_.get(), call.frame, kFrame, call.described, FI_ADDR_UNSPEC, &call.context);
        if (status == -FI_EAGAIN) {
            break;
        }
        must(status, "room to receive");
        unposted_.pop_back();
    }
    const ssize_t count = fi_cq_read(queue_.get(), done.data(), done.size());
    return count == -FI_EAVAIL && fi_cq_readerr(queue_.get(), &wrong, 0) != 1 ? -FI_EAGAIN : count;
}

bool Fabric::read(const Ended& ended) {
    std::array<fi_cq_msg_entry, 32> done{};
    fi_cq_err_entry wrong{};
    const ssize_t count = read_once(done, wrong);
    if (count == -FI_EAVAIL && wrong.op_context != nullptr) {
        ended(*static_cast<Call*>(wrong.op_context), 0, wrong.err == 0 ? FI_EIO : wrong.err);
    }
    for (ssize_t i = 0; i < count; ++i) {
        const fi_cq_msg_entry& one = done.at(static_cast<std::size_t>(i));
        if (one.op_context != nullptr) {
            ended(*static_cast<Call*>(one.op_context), one.len, 0);
        }
    }
    return count > 0 || count == -FI_EAVAIL || count == -FI_EBUSY;
}

Region Fabric::share(std::byte* data, std::uint64_t bytes, bool theirs) {
    std::uint64_t key = ++keys_;
    if (theirs && getrandom(&key, sizeof key, 0) != sizeof key) {
        fail_system("random numbers");
    }
    const std::size_t key_bytes = info_->domain_attr->mr_key_size;
    if (key_bytes < sizeof key) {
        key &= (std::uint64_t{1} << (8 * key_bytes)) - 1;
    }
    fid_mr* memory = nullptr;
    const std::uint64_t use = theirs ? FI_REMOTE_WRITE : FI_SEND | FI_RECV | FI_WRITE;
    must(fi_mr_reg(domain_.get(), data, bytes, use, 0, key, 0, &memory, nullptr), "fi_mr_reg");
    Region region;
    region.memory.reset(memory);
    region.key = fi_mr_key(memory);
    region.address = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uint64_t>(data) : 0;
    return region;
}

bool Fabric::may_sleep() {
    std::array<fid*, 1> watched{&queue_->fid};
    return descriptor_ < 0 || fi_trywait(fabric_.get(), watched.data(), 1) == 0;
}

}  // namespace nodewise::transport
