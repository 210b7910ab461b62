// SPDX-License-Identifier: BSD-3-Clause
// Serving the requests: threads take equal parts of them, in order. A query is answered at once. A debit changes the
// balance under the lock, is logged, and acknowledged with up to `batch` others of its thread when the log is written.
#include <fcntl.h>
#include <omp.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "accounts.h"
#include "locks.h"
#include "log.h"
#include "own.h"
#include "text.h"

namespace store {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostFolders = 16;

double quantile(std::vector<double> values, double part) {
    const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string knob(const nw_run* run, const char* name, const char* absent) {
    const char* given = nw_text(run, name);
    return given != nullptr && *given != '\0' ? given : absent;
}

// Marks the beginning of a run for whoever reads what is acknowledged; before the log of the last one is emptied.
constexpr std::int64_t kBegin = -1;

int acknowledge_to(const nw_run* run) { return static_cast<int>(nw_number(run, "acknowledge", -1)); }

// A log without a name, gone with this process; or one that stays, for those who read it afterwards.
int open_log(const nw_run* run, const std::string& folder) {
    const std::string keep = knob(run, "keep", "");
    if (!keep.empty()) {
        const int kept = open((folder + "/" + keep).c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
        // the name has to be on the disk, too
        const int names = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (names >= 0) {
            fsync(names);
            close(names);
        }
        return kept;
    }
    int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)) {
        std::string name = folder + "/nodewise-XXXXXX";
        fd = mkostemp(name.data(), O_CLOEXEC);
        if (fd >= 0) {
            unlink(name.c_str());
        }
    }
    return fd;
}

// One thread's part of a run.
template <class Lock>
class Server {
  public:
    Server(const nw_run* run, Accounts& accounts, Lock& lock, Log& log, double* waited)
        : requests_(requests_of(run)),
          accounts_(accounts),
          lock_(lock),
          log_(log),
          waited_(waited),
          size_(static_cast<std::uint32_t>(nw_number(run, "record", 128))),
          batch_(static_cast<std::size_t>(nw_number(run, "batch", 64))),
          acknowledge_(acknowledge_to(run)),
          text_(size_) {}

    bool serve(std::int64_t begin, std::int64_t end) {
        bool good = true;
        for (std::int64_t i = begin; good && i < end; ++i) {
            const std::uint64_t number = Accounts::number(requests_.account[i]);
            if (requests_.amount[i] == 0) {
                query(number);
            } else {
                good = debit(i, number);
            }
        }
        return good && settle();
    }

    std::int64_t seen() const { return seen_; }

  private:
    void query(std::uint64_t number) {
        const std::shared_lock held(lock_);
        seen_ ^= accounts_.balance(number);
    }

    bool debit(std::int64_t i, std::uint64_t number) {
        const Clock::time_point begin = Clock::now();
        const std::int64_t amount = requests_.amount[i];
        bool covered = false;
        {
            const std::unique_lock held(lock_);
            std::int64_t& balance = accounts_.balance(number);
            covered = balance >= amount;
            balance -= covered ? amount : 0;
        }
        if (!covered) {
            waited_[i] = 0;
            return true;
        }
        const auto request = static_cast<std::uint64_t>(i);
        const Record record{request, static_cast<std::uint32_t>(requests_.account[i]), size_, amount};
        place_ = log_.append(record, text_.of(request, number, amount, size_ - sizeof record));
        open_.push_back({i, begin});
        return open_.size() < batch_ || settle();
    }

    // Waits for the log and acknowledges.
    bool settle() {
        if (open_.empty()) {
            return true;
        }
        if (!log_.wait(place_)) {
            return false;
        }
        const Clock::time_point now = Clock::now();
        acknowledged_.clear();
        for (const Open& one : open_) {
            waited_[one.request] = std::chrono::duration<double>(now - one.begin).count();
            acknowledged_.push_back(one.request);
        }
        open_.clear();
        // parts that a pipe takes as one
        constexpr std::size_t kPart = 512;
        for (std::size_t at = 0; acknowledge_ >= 0 && at < acknowledged_.size(); at += kPart) {
            const std::size_t bytes = std::min(kPart, acknowledged_.size() - at) * sizeof acknowledged_[0];
            if (write(acknowledge_, acknowledged_.data() + at, bytes) != static_cast<ssize_t>(bytes)) {
                return false;
            }
        }
        return true;
    }

    struct Open {
        std::int64_t request;
        Clock::time_point begin;
    };

    Requests requests_;
    Accounts& accounts_;
    Lock& lock_;
    Log& log_;
    double* waited_;
    std::uint32_t size_;
    std::size_t batch_;
    int acknowledge_;
    Text text_;
    std::vector<Open> open_;
    std::vector<std::int64_t> acknowledged_;
    std::uint64_t place_ = 0;
    std::int64_t seen_ = 0;
};

struct Replayed {
    std::int64_t* balance;
    std::uint8_t* logged;
    std::int64_t accounts;
    std::int64_t requests;
    bool good = true;
};

// Replays the log over the balances that there were before.
bool recover(nw_run* run, int fd) {
    const Requests requests = requests_of(run);
    Replayed state{static_cast<std::int64_t*>(nw_data(run, "recovered")),
                   static_cast<std::uint8_t*>(nw_data(run, "logged")), requests.accounts, requests.count};
    std::copy_n(requests.start, requests.accounts, state.balance);
    const auto take = [](void* to, const Record& record) {
        auto& into = *static_cast<Replayed*>(to);
        if (record.account >= static_cast<std::uint64_t>(into.accounts) ||
            record.request >= static_cast<std::uint64_t>(into.requests)) {
            into.good = false;
            return;
        }
        into.balance[record.account] -= record.amount;
        ++into.logged[record.request];
    };
    std::string wrong;
    if (!replay(fd, take, &state, wrong)) {
        nw_fail(run, "%s", wrong.c_str());
        return false;
    }
    if (!state.good) {
        nw_fail(run, "the log has a record of no request");
    }
    return state.good;
}

// What a run saw in one folder.
struct Seen {
    double seconds = 0;
    double recovery_seconds = 0;
    double packing_seconds = 0;
    double log_bytes = 0;
    double raw_bytes = 0;
    double groups = 0;
    std::vector<double> waits;
};

// Serves all requests with the log in one folder.
template <class Lock>
int serve_in(nw_run* run, const std::string& folder, Codec codec, Seen& into) {
    const Requests requests = requests_of(run);
    if (const int to = acknowledge_to(run); to >= 0 && write(to, &kBegin, sizeof kBegin) != sizeof kBegin) {
        return nw_fail(run, "acknowledge: %s", strerror(errno));  // NOLINT: one thread
    }
    const int fd = open_log(run, folder);
    if (fd < 0) {
        return nw_fail(run, "%s: no log can be made: %s", folder.c_str(),
                       strerror(errno));  // NOLINT: one thread
    }
    Accounts accounts(requests.accounts);
    for (std::int64_t a = 0; a < requests.accounts; ++a) {
        accounts.put(Accounts::number(a), requests.start[a]);
    }
    auto* waited = static_cast<double*>(nw_data(run, "waited"));
    Lock lock;
    Log log(fd, codec, sync_of(run));
    std::atomic<bool> good{true};
    std::atomic<std::int64_t> seen{0};
    const Clock::time_point begin = Clock::now();
#pragma omp parallel num_threads(run->threads)
    {
        const std::int64_t threads = omp_get_num_threads();
        const std::int64_t thread = omp_get_thread_num();
        Server<Lock> server(run, accounts, lock, log, waited);
        if (!server.serve(requests.count * thread / threads, requests.count * (thread + 1) / threads)) {
            good = false;
        }
        seen ^= server.seen();  // so that queries are not left out
    }
    into.seconds = seconds_since(begin);
    auto* balances = static_cast<std::int64_t*>(nw_data(run, "balances"));
    for (std::int64_t a = 0; a < requests.accounts; ++a) {
        balances[a] = accounts.balance(Accounts::number(a));
    }
    const Clock::time_point again = Clock::now();
    const bool recovered = good && recover(run, fd);
    into.recovery_seconds = seconds_since(again);
    into.packing_seconds = log.packing_seconds();
    into.log_bytes = static_cast<double>(log.bytes());
    into.raw_bytes = static_cast<double>(log.raw_bytes());
    into.groups = static_cast<double>(log.groups());
    std::copy_if(waited, waited + requests.count, std::back_inserter(into.waits), [](double w) { return w > 0; });
    close(fd);
    if (!good) {
        return nw_fail(run, "%s: the log cannot be written: %s", folder.c_str(),
                       strerror(log.error()));  // NOLINT: one thread
    }
    return recovered ? 0 : 1;
}

// The metrics of one folder among several, whose names have to stay.
void report_folder(nw_run* run, std::size_t at, const Seen& seen) {
    static const std::vector<std::array<std::string, 2>> kNames = [] {
        std::vector<std::array<std::string, 2>> names;
        for (std::size_t k = 1; k <= kMostFolders; ++k) {
            names.push_back({"seconds_" + std::to_string(k), "p99_us_" + std::to_string(k)});
        }
        return names;
    }();
    nw_report(run, kNames[at][0].c_str(), seen.seconds);
    if (!seen.waits.empty()) {
        nw_report(run, kNames[at][1].c_str(), quantile(seen.waits, 0.99) * 1e6);
    }
}

template <class Lock>
int serve_under(nw_run* run) {
    std::string wrong;
    Codec codec{};
    if (!open_codec(knob(run, "compress", "none"), codec, wrong)) {
        return nw_fail(run, "%s", wrong.c_str());
    }
    const std::vector<std::string> folders = folders_of(run);
    Seen all;
    for (std::size_t f = 0; f < folders.size(); ++f) {
        // what was answered in one folder is judged before the next one's answers take its place
        if (f > 0 && (check(run) != 0 || reset(run) != 0)) {
            return 1;
        }
        Seen seen;
        if (serve_in<Lock>(run, folders[f], codec, seen) != 0) {
            return 1;
        }
        if (folders.size() > 1) {
            report_folder(run, f, seen);
        }
        all.seconds += seen.seconds;
        all.recovery_seconds += seen.recovery_seconds;
        all.packing_seconds += seen.packing_seconds;
        all.log_bytes += seen.log_bytes;
        all.raw_bytes += seen.raw_bytes;
        all.groups += seen.groups;
        all.waits.insert(all.waits.end(), seen.waits.begin(), seen.waits.end());
    }
    nw_report(run, "seconds", all.seconds);
    nw_report(run, "recovery_seconds", all.recovery_seconds);
    nw_report(run, "log_bytes", all.log_bytes);
    nw_report(run, "log_ratio", all.log_bytes > 0 ? all.raw_bytes / all.log_bytes : 1);
    nw_report(run, "groups", all.groups);
    if (all.packing_seconds > 0) {
        nw_report(run, "compress_mb_per_s", all.raw_bytes / all.packing_seconds * 1e-6);
    }
    report_waits(run, all.waits.data(), static_cast<std::int64_t>(all.waits.size()));
    return 0;
}

}  // namespace

std::vector<std::string> folders_of(const nw_run* run) {
    const char* temporary = std::getenv("TMPDIR");  // NOLINT: nobody changes the environment
    const bool known = temporary != nullptr && *temporary != '\0';
    std::vector<std::string> folders;
    std::string text = knob(run, "folder", "");
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(':', at), text.size());
        if (end > at) {
            folders.push_back(text.substr(at, end - at));
        }
        at = end + 1;
    }
    return folders.empty() ? std::vector<std::string>{known ? temporary : "/tmp"} : folders;
}

std::string folder_of(const nw_run* run) { return folders_of(run).front(); }

Sync sync_of(const nw_run* run) {
    const std::string asked = knob(run, "sync", "fdatasync");
    return asked == "none" ? Sync::kNone : asked == "fsync" ? Sync::kAll : Sync::kData;
}

void report_waits(nw_run* run, const double* waited, std::int64_t count) {
    std::vector<double> waits;
    std::copy_if(waited, waited + count, std::back_inserter(waits), [](double w) { return w > 0; });
    if (!waits.empty()) {
        nw_report(run, "p50_us", quantile(waits, 0.5) * 1e6);
        nw_report(run, "p99_us", quantile(waits, 0.99) * 1e6);
    }
}

int prepare(nw_run* run) {
    const Requests requests = requests_of(run);
    const auto debits = std::count_if(requests.amount, requests.amount + requests.count, [](auto a) { return a != 0; });
    // a group of one record is the worst
    const double bytes = static_cast<double>(debits) * (nw_number(run, "record", 128) + sizeof(Group)) + (1 << 20);
    const std::vector<std::string> folders = folders_of(run);
    if (folders.size() > kMostFolders) {
        return nw_fail(run, "folder: %zu folders, at most %zu go into one run\nhint: name some of them at a time",
                       folders.size(), kMostFolders);
    }
    for (const std::string& folder : folders) {
        struct statvfs seen{};
        if (statvfs(folder.c_str(), &seen) != 0) {
            return nw_fail(run, "%s: %s", folder.c_str(), strerror(errno));  // NOLINT: one thread
        }
        const double free = static_cast<double>(seen.f_bavail) * static_cast<double>(seen.f_frsize);
        if (free < bytes) {
            return nw_fail(run, "%s has %.0f bytes free, and %.0f are needed", folder.c_str(), free, bytes);
        }
    }
    return 0;
}

int serve(nw_run* run, Kind kind) {
    switch (kind) {
        case Kind::kSpin:
            return serve_under<Spin>(run);
        case Kind::kTicket:
            return serve_under<Ticket>(run);
        case Kind::kMutex:
            return serve_under<Mutex>(run);
        case Kind::kRwlock:
            return serve_under<Rwlock>(run);
        case Kind::kSharedMutex:
            return serve_under<std::shared_mutex>(run);
        case Kind::kElided:
            break;
    }
#if defined(__x86_64__)
    return serve_under<Elided>(run);
#else
    return nw_fail(run, "there is no RTM on this kind of processor");
#endif
}

int log_only(nw_run* run) {
    const Requests requests = requests_of(run);
    const auto debits = std::count_if(requests.amount, requests.amount + requests.count, [](auto a) { return a != 0; });
    const std::vector<char> text(
        static_cast<std::size_t>(nw_number(run, "record", 128)) * static_cast<std::size_t>(debits), 'x');
    const std::vector<std::string> folders = folders_of(run);
    Seen all;
    for (std::size_t f = 0; f < folders.size(); ++f) {
        const int fd = open_log(run, folders[f]);
        Seen seen;
        const Clock::time_point begin = Clock::now();
        const bool good =
            fd >= 0 && write_at(fd, text.data(), text.size(), 0) && (sync_of(run) == Sync::kNone || fdatasync(fd) == 0);
        seen.seconds = seconds_since(begin);
        const int wrong = errno;
        close(fd);
        if (!good) {
            return nw_fail(run, "%s: the log cannot be written: %s", folders[f].c_str(),
                           strerror(wrong));  // NOLINT: one thread
        }
        if (folders.size() > 1) {
            report_folder(run, f, seen);
        }
        all.seconds += seen.seconds;
    }
    nw_report(run, "seconds", all.seconds);
    return 0;
}

}  // namespace store

// For those who kept a log: the requests that are in it, in order, at most `room`; their number, or -1 where it cannot
// be read.
extern "C" std::int64_t nodewise_store_recover(const char* path, std::uint64_t* requests, std::int64_t room) {
    struct Into {
        std::uint64_t* requests;
        std::int64_t room;
        std::int64_t count;
    } into{requests, room, 0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    const auto take = [](void* to, const store::Record& record) {
        auto& list = *static_cast<Into*>(to);
        if (list.count < list.room) {
            list.requests[list.count] = record.request;
        }
        ++list.count;
    };
    std::string wrong;
    const bool good = store::replay(fd, take, &into, wrong);
    close(fd);
    return good ? into.count : -1;
}

// For tests: packs without AVX2 (0) or with it (1); 0 where the processor has none.
extern "C" std::size_t nodewise_store_pack(const char* from, std::size_t size, char* to, int way) {
    std::vector<std::uint32_t> last(store::kPlaces, 0);
    if (way == 0) {
        return store::pack_plain(from, size, to, last.data());
    }
    return store::has_avx2() ? store::pack_avx2(from, size, to, last.data()) : 0;
}
