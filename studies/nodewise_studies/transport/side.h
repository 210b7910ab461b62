// SPDX-License-Identifier: BSD-3-Clause
// One of the two processes of a pair: what it was asked, its place, and its line to the process that started it.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "control.h"
#include "study.h"

namespace transport {

// What a side found: the receiver the times, both the processor time that they took from the signal on.
struct Figures {
    double seconds = 0;                 // of the receiver's clock
    double elapsed = 0;                 // of the wall, pauses and all
    double processor = 0;               // seconds of all threads of this process
    double p50 = 0, p99 = 0, p999 = 0;  // half round trips, in seconds
};

class Side {
  public:
    // `words` as pair.cpp writes them. Throws where the pair's first process is not there any more.
    explicit Side(const std::map<std::string, std::string>& words);
    ~Side();
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    Task task;
    bool receiver = false;  // of round trips, it asks; the other one answers
    Figures figures;
    std::int64_t* sums() const { return reinterpret_cast<std::int64_t*>(sums_->data()); }

    // To the other side, and from it, in order.
    void tell(std::string_view what) const { send_packet(control_.get(), About::kRelay, what); }
    std::string hear() const;
    // A file that is to go where this process has to end early.
    void loses(const std::string& path);

    // Done; back once the other is, too. What a library has to do in the meantime is `progress`.
    void leave(const std::function<void()>& progress = {});
    void give_up(const std::string& reason) const;

    // A symbol of the contender's library. Throws, naming it.
    template <typename Call>
    void find(Call& call, const char* name) const {
        void* symbol = library_ == nullptr ? nullptr : dlsym(library_, name);
        if (symbol == nullptr) {
            fail(std::string("its library has no ") + name);
        }
        call = reinterpret_cast<Call>(symbol);
    }
    void* library() const { return library_; }

  private:
    void watch();  // ends this process where the one that started it is gone
    Fd control_, stop_;
    std::unique_ptr<Shared> sums_;
    void* library_ = nullptr;
    std::mutex mutex_;
    std::vector<std::string> lost_;
    std::thread watcher_;
};

// What a contender does on either side.
using Part = void (*)(Side&);

// How its two processes are started.
enum class Start { kAlone, kByMpi };

struct Contender {
    const char* name;
    Part part;
    Start start = Start::kAlone;
};

// Those of the table, in its order; null for an unknown name.
const Contender* find_contender(std::string_view name);

// A whole run: two fresh processes, their figures reported.
int run_pair(nw_run* run, const Contender& contender);

}  // namespace transport
