// SPDX-License-Identifier: BSD-3-Clause
#include "runner/capture.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nodewise {
namespace {

constexpr std::string_view kProtocol = "{\"nodewise\":";

// Whether a line that begins so may still turn out to be one of the protocol (blanks after the colon are free).
bool may_be_protocol(std::string_view line) {
    const std::size_t n = std::min(line.size(), kProtocol.size());
    return line.substr(0, n) == kProtocol.substr(0, n);
}

}  // namespace

void Capture::reset() {
    head_.clear();
    tail_.clear();
    tail_at_ = 0;
    total_ = 0;
    line_.clear();
    skipping_ = false;
    lines_.clear();
}

bool Capture::drain(int descriptor) {
    static thread_local std::array<char, std::size_t{256} << 10> buffer;
    for (;;) {
        const ssize_t count = read(descriptor, buffer.data(), buffer.size());
        if (count > 0) {
            take({buffer.data(), static_cast<std::size_t>(count)});
            if (static_cast<std::size_t>(count) < buffer.size()) {
                return true;
            }
        } else if (count == 0) {
            return false;
        } else if (errno != EINTR) {
            return errno == EAGAIN;
        }
    }
}

void Capture::take(std::string_view data) {
    total_ += data.size();
    scan(data);
    const std::size_t to_head = std::min(data.size(), kKeep - std::min(kKeep, head_.size()));
    head_.append(data.substr(0, to_head));
    data.remove_prefix(to_head);
    if (data.size() >= kKeep) {
        tail_.assign(data.substr(data.size() - kKeep));
        tail_at_ = 0;
        return;
    }
    const std::size_t to_grow = std::min(data.size(), kKeep - tail_.size());
    tail_.append(data.substr(0, to_grow));
    data.remove_prefix(to_grow);
    for (const char c : data) {
        tail_[tail_at_] = c;
        tail_at_ = (tail_at_ + 1) % kKeep;
    }
}

void Capture::scan(std::string_view data) {
    while (!data.empty()) {
        if (skipping_) {
            // a chatty program must not wait for us: only lines that may be of the protocol are looked at
            const void* next = memmem(data.data(), data.size(), "\n{", 2);
            if (next == nullptr) {
                if (data.back() == '\n') {
                    end_line();
                }
                return;
            }
            end_line();
            data.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(next) - data.data()) + 1);
        }
        const std::size_t feed = data.find('\n');
        const std::string_view part = data.substr(0, feed);
        if (!skipping_) {
            line_.append(part.substr(0, kLongestLine + 1 - std::min(kLongestLine, line_.size())));
            skipping_ = !may_be_protocol(line_) || line_.size() > kLongestLine;
        }
        if (feed == std::string_view::npos) {
            return;
        }
        end_line();
        data.remove_prefix(feed + 1);
    }
}

void Capture::end_line() {
    if (!skipping_ && line_.size() > kProtocol.size() && lines_.size() < kMostLines) {
        lines_.push_back(line_);
    }
    line_.clear();
    skipping_ = false;
}

void Capture::finish() { end_line(); }

std::string Capture::text() const {
    std::string out = head_;
    const std::uint64_t kept = head_.size() + tail_.size();
    if (total_ > kept) {
        out += "\n[… " + std::to_string(total_ - kept) + " bytes left out …]\n";
    }
    out.append(tail_, tail_at_, std::string::npos);
    out.append(tail_, 0, tail_at_);
    return out;
}

}  // namespace nodewise
