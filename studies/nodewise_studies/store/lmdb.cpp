// SPDX-License-Identifier: BSD-3-Clause
// The same requests to LMDB: accounts and log are two tables of one database. Queries read in a transaction of their
// own. A thread's debits wait until there are `batch` of them and go into one writing transaction; only one is open at
// a time. Its commit waits for the disk, or with sync=none for the kernel alone. Afterwards the file is opened anew and
// read.
#include <dlfcn.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "log.h"
#include "study.h"
#include "text.h"

namespace store {
namespace {

using Clock = std::chrono::steady_clock;

// As lmdb.h of 0.9 has them.
struct Environment;
struct Transaction;
struct Cursor;
struct Value {
    std::size_t size;
    void* data;
};
constexpr unsigned kNoSubfolder = 0x4000;
constexpr unsigned kNoSync = 0x10000;
constexpr unsigned kReadOnly = 0x20000;
constexpr unsigned kNoLock = 0x400000;
constexpr unsigned kIntegerKey = 0x08;
constexpr unsigned kCreate = 0x40000;
constexpr unsigned kAppend = 0x20000;
constexpr int kNotFound = -30798;
constexpr int kNext = 8;

// The library's functions; `missing` is the first that it has not.
struct Lmdb {
    explicit Lmdb(void* library) {
        find(library, "mdb_env_create", create);
        find(library, "mdb_env_set_mapsize", set_size);
        find(library, "mdb_env_set_maxdbs", set_tables);
        find(library, "mdb_env_set_maxreaders", set_readers);
        find(library, "mdb_env_open", open);
        find(library, "mdb_env_get_fd", descriptor);
        find(library, "mdb_env_close", close);
        find(library, "mdb_txn_begin", begin);
        find(library, "mdb_txn_commit", commit);
        find(library, "mdb_txn_abort", abort);
        find(library, "mdb_txn_reset", reset);
        find(library, "mdb_txn_renew", renew);
        find(library, "mdb_dbi_open", open_table);
        find(library, "mdb_get", get);
        find(library, "mdb_put", put);
        find(library, "mdb_cursor_open", open_cursor);
        find(library, "mdb_cursor_get", next);
        find(library, "mdb_cursor_close", close_cursor);
        find(library, "mdb_strerror", words);
    }

    int (*create)(Environment**) = nullptr;
    int (*set_size)(Environment*, std::size_t) = nullptr;
    int (*set_tables)(Environment*, unsigned) = nullptr;
    int (*set_readers)(Environment*, unsigned) = nullptr;
    int (*open)(Environment*, const char* path, unsigned flags, unsigned mode) = nullptr;
    int (*descriptor)(Environment*, int*) = nullptr;
    void (*close)(Environment*) = nullptr;
    int (*begin)(Environment*, Transaction* parent, unsigned flags, Transaction**) = nullptr;
    int (*commit)(Transaction*) = nullptr;
    void (*abort)(Transaction*) = nullptr;
    void (*reset)(Transaction*) = nullptr;
    int (*renew)(Transaction*) = nullptr;
    int (*open_table)(Transaction*, const char* name, unsigned flags, unsigned* table) = nullptr;
    int (*get)(Transaction*, unsigned table, Value* key, Value* value) = nullptr;
    int (*put)(Transaction*, unsigned table, Value* key, Value* value, unsigned flags) = nullptr;
    int (*open_cursor)(Transaction*, unsigned table, Cursor**) = nullptr;
    int (*next)(Cursor*, Value* key, Value* value, int how) = nullptr;
    void (*close_cursor)(Cursor*) = nullptr;
    const char* (*words)(int) = nullptr;
    const char* missing = nullptr;

  private:
    template <class Function>
    void find(void* library, const char* name, Function& into) {
        into = reinterpret_cast<Function>(dlsym(library, name));  // POSIX lets it travel as a void*
        missing = into == nullptr && missing == nullptr ? name : missing;
    }
};

template <class Number>
Value value_of(Number& number) {
    return {sizeof number, &number};
}

struct Database {
    Environment* environment = nullptr;
    unsigned accounts = 0;
    unsigned log = 0;
};

// The size to which the file may grow: each record, on pages of its own where it is long, and copies of what changes.
std::size_t most_bytes(const nw_run* run) {
    constexpr std::size_t kPages = std::size_t{1} << 28;
    constexpr std::size_t kPage = 4096;
    const Requests requests = requests_of(run);
    const auto record = static_cast<std::size_t>(nw_number(run, "record", 128));
    const std::size_t each = record < kPage / 4 ? 4 * record : 3 * kPage;
    return kPages + static_cast<std::size_t>(requests.count) * each + static_cast<std::size_t>(requests.accounts) * 128;
}

// Opens a database's file, and its tables, which are made where it may be written.
int open_database(const Lmdb& lmdb, const std::string& path, std::size_t bytes, unsigned readers, unsigned flags,
                  Database& into) {
    int wrong = lmdb.create(&into.environment);
    if (wrong != 0) {
        return wrong;
    }
    lmdb.set_size(into.environment, bytes);
    lmdb.set_tables(into.environment, 2);
    lmdb.set_readers(into.environment, readers);
    wrong = lmdb.open(into.environment, path.c_str(), flags | kNoSubfolder, 0600);
    Transaction* transaction = nullptr;
    wrong = wrong != 0 ? wrong : lmdb.begin(into.environment, nullptr, flags & kReadOnly, &transaction);
    if (wrong != 0) {
        return wrong;
    }
    const unsigned how = kIntegerKey | ((flags & kReadOnly) != 0 ? 0 : kCreate);
    wrong = lmdb.open_table(transaction, "accounts", how, &into.accounts);
    wrong = wrong != 0 ? wrong : lmdb.open_table(transaction, "log", how, &into.log);
    if (wrong != 0) {
        lmdb.abort(transaction);
        return wrong;
    }
    return lmdb.commit(transaction);
}

int put_accounts(const Lmdb& lmdb, const Database& database, const Requests& requests) {
    Transaction* transaction = nullptr;
    int wrong = lmdb.begin(database.environment, nullptr, 0, &transaction);
    for (std::uint64_t a = 0; wrong == 0 && a < static_cast<std::uint64_t>(requests.accounts); ++a) {
        std::int64_t balance = requests.start[a];
        Value key = value_of(a);
        Value value = value_of(balance);
        wrong = lmdb.put(transaction, database.accounts, &key, &value, kAppend);
    }
    return wrong != 0 ? wrong : lmdb.commit(transaction);
}

// A database without a name, gone with this process.
int new_database(const Lmdb& lmdb, nw_run* run, Database& into) {
    std::string folder = folder_of(run) + "/nodewise-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) {
        return errno;
    }
    const std::string path = folder + "/store";
    const unsigned flags = sync_of(run) == Sync::kNone ? kNoSync : 0;
    constexpr unsigned kSpare = 8;
    const unsigned readers = static_cast<unsigned>(run->threads) + kSpare;
    int wrong = open_database(lmdb, path, most_bytes(run), readers, flags, into);
    unlink(path.c_str());
    unlink((path + "-lock").c_str());
    rmdir(folder.c_str());
    return wrong != 0 ? wrong : put_accounts(lmdb, into, requests_of(run));
}

// One thread's part.
class Client {
  public:
    Client(const Lmdb& lmdb, const Database& database, const nw_run* run)
        : lmdb_(lmdb),
          database_(database),
          requests_(requests_of(run)),
          waited_(static_cast<double*>(nw_data(run, "waited"))),
          size_(static_cast<std::uint32_t>(nw_number(run, "record", 128))),
          batch_(static_cast<std::size_t>(nw_number(run, "batch", 64))),
          text_(size_),
          record_(size_) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() {
        if (reading_ != nullptr) {
            lmdb_.abort(reading_);
        }
    }

    int serve(std::int64_t begin, std::int64_t end) {
        int wrong = lmdb_.begin(database_.environment, nullptr, kReadOnly, &reading_);
        if (wrong != 0) {
            return wrong;
        }
        lmdb_.reset(reading_);
        for (std::int64_t i = begin; wrong == 0 && i < end; ++i) {
            if (requests_.amount[i] == 0) {
                wrong = query(requests_.account[i]);
                continue;
            }
            open_.push_back({i, Clock::now()});
            wrong = open_.size() < batch_ ? 0 : settle();
        }
        return wrong != 0 ? wrong : settle();
    }

    std::int64_t seen() const { return seen_; }
    std::int64_t commits() const { return commits_; }

  private:
    int query(std::int32_t account) {
        if (const int wrong = lmdb_.renew(reading_); wrong != 0) {
            return wrong;
        }
        auto number = static_cast<std::uint64_t>(account);
        Value key = value_of(number);
        Value value{};
        const int wrong = lmdb_.get(reading_, database_.accounts, &key, &value);
        if (wrong == 0) {
            std::int64_t balance = 0;
            std::memcpy(&balance, value.data, sizeof balance);
            seen_ ^= balance;
        }
        lmdb_.reset(reading_);
        return wrong;
    }

    // All debits that are open, in one transaction.
    int settle() {
        if (open_.empty()) {
            return 0;
        }
        Transaction* writing = nullptr;
        int wrong = lmdb_.begin(database_.environment, nullptr, 0, &writing);
        if (wrong != 0) {
            return wrong;
        }
        for (const Open& one : open_) {
            wrong = debit(writing, one.request);
            if (wrong != 0) {
                lmdb_.abort(writing);
                return wrong;
            }
        }
        wrong = lmdb_.commit(writing);
        const Clock::time_point now = Clock::now();
        for (const Open& one : open_) {
            waited_[one.request] *= std::chrono::duration<double>(now - one.begin).count();
        }
        open_.clear();
        ++commits_;
        return wrong;
    }

    int debit(Transaction* writing, std::int64_t i) {
        auto account = static_cast<std::uint64_t>(requests_.account[i]);
        Value key = value_of(account);
        Value value{};
        int wrong = lmdb_.get(writing, database_.accounts, &key, &value);
        if (wrong != 0) {
            return wrong;
        }
        std::int64_t balance = 0;
        std::memcpy(&balance, value.data, sizeof balance);
        const bool covered = balance >= requests_.amount[i];
        waited_[i] = covered ? 1 : 0;
        if (!covered) {
            return 0;
        }
        balance -= requests_.amount[i];
        value = value_of(balance);
        wrong = lmdb_.put(writing, database_.accounts, &key, &value, 0);
        if (wrong != 0) {
            return wrong;
        }
        auto request = static_cast<std::uint64_t>(i);
        const Record record{request, static_cast<std::uint32_t>(account), size_, requests_.amount[i]};
        std::memcpy(record_.data(), &record, sizeof record);
        const std::size_t rest = size_ - sizeof record;
        std::memcpy(record_.data() + sizeof record, text_.of(request, account, record.amount, rest), rest);
        key = value_of(request);
        value = {size_, record_.data()};
        return lmdb_.put(writing, database_.log, &key, &value, 0);
    }

    struct Open {
        std::int64_t request;
        Clock::time_point begin;
    };

    const Lmdb& lmdb_;
    const Database& database_;
    Requests requests_;
    double* waited_;
    std::uint32_t size_;
    std::size_t batch_;
    Text text_;
    std::vector<char> record_;
    std::vector<Open> open_;
    Transaction* reading_ = nullptr;
    std::int64_t seen_ = 0;
    std::int64_t commits_ = 0;
};

// Each value of a table, by its key.
template <class Take>
int each(const Lmdb& lmdb, Transaction* transaction, unsigned table, const Take& take) {
    Cursor* cursor = nullptr;
    int wrong = lmdb.open_cursor(transaction, table, &cursor);
    Value key{};
    Value value{};
    if (wrong != 0) {
        return wrong;
    }
    while ((wrong = lmdb.next(cursor, &key, &value, kNext)) == 0) {
        std::uint64_t number = 0;
        std::memcpy(&number, key.data, sizeof number);
        take(number, value);
    }
    lmdb.close_cursor(cursor);
    return wrong == kNotFound ? 0 : wrong;
}

// The outputs, from the file that the run left.
int read_again(const Lmdb& lmdb, nw_run* run, int descriptor) {
    const Requests requests = requests_of(run);
    auto* balances = static_cast<std::int64_t*>(nw_data(run, "balances"));
    auto* recovered = static_cast<std::int64_t*>(nw_data(run, "recovered"));
    auto* logged = static_cast<std::uint8_t*>(nw_data(run, "logged"));
    std::copy_n(requests.start, requests.accounts, recovered);
    Database database;
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    int wrong = open_database(lmdb, path, most_bytes(run), 1, kReadOnly | kNoLock, database);
    Transaction* transaction = nullptr;
    wrong = wrong != 0 ? wrong : lmdb.begin(database.environment, nullptr, kReadOnly, &transaction);
    if (wrong == 0) {
        wrong = each(lmdb, transaction, database.accounts, [&](std::uint64_t account, const Value& value) {
            if (account < static_cast<std::uint64_t>(requests.accounts)) {
                std::memcpy(&balances[account], value.data, sizeof balances[account]);
            }
        });
        const int other = each(lmdb, transaction, database.log, [&](std::uint64_t request, const Value& value) {
            Record record{};
            std::memcpy(&record, value.data, std::min(value.size, sizeof record));
            if (request < static_cast<std::uint64_t>(requests.count) &&
                record.account < static_cast<std::uint64_t>(requests.accounts)) {
                ++logged[request];
                recovered[record.account] -= record.amount;
            }
        });
        wrong = wrong != 0 ? wrong : other;
        lmdb.abort(transaction);
    }
    if (database.environment != nullptr) {
        lmdb.close(database.environment);
    }
    return wrong;
}

}  // namespace

int prepare_lmdb(nw_run* run) {
    if (const char* missing = Lmdb(run->library).missing; missing != nullptr) {
        return nw_fail(run, "the library has no %s", missing);
    }
    return prepare(run);
}

int lmdb(nw_run* run) {
    const Lmdb library(run->library);
    const Requests requests = requests_of(run);
    Database database;
    std::atomic<int> failed{new_database(library, run, database)};
    std::atomic<std::int64_t> seen{0};
    std::atomic<std::int64_t> commits{0};
    const Clock::time_point begin = Clock::now();
    if (failed == 0) {
#pragma omp parallel num_threads(run->threads)
        {
            const std::int64_t threads = omp_get_num_threads();
            const std::int64_t thread = omp_get_thread_num();
            Client client(library, database, run);
            const int wrong = client.serve(requests.count * thread / threads, requests.count * (thread + 1) / threads);
            if (wrong != 0) {
                failed = wrong;
            }
            seen ^= client.seen();  // so that queries are not left out
            commits += client.commits();
        }
    }
    nw_report(run, "seconds", std::chrono::duration<double>(Clock::now() - begin).count());
    nw_report(run, "groups", static_cast<double>(commits));
    report_waits(run, static_cast<const double*>(nw_data(run, "waited")), requests.count);
    int descriptor = -1;
    if (database.environment != nullptr) {
        int own = -1;
        library.descriptor(database.environment, &own);
        descriptor = dup(own);
        library.close(database.environment);
    }
    const Clock::time_point again = Clock::now();
    const int wrong = failed != 0 ? failed.load() : read_again(library, run, descriptor);
    nw_report(run, "recovery_seconds", std::chrono::duration<double>(Clock::now() - again).count());
    close(descriptor);
    return wrong == 0 ? 0 : nw_fail(run, "%s: %s", folder_of(run).c_str(), library.words(wrong));
}

}  // namespace store
