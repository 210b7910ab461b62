// SPDX-License-Identifier: BSD-3-Clause
#include "runner/capture.h"

#include <poll.h>
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
    dropped_ = 0;
    before_ = "\n";
    misplaced_.clear();
    answer_bytes_ = 0;
    digest_.reset();
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

void Capture::write_on(std::string_view data) {
    while (to_ >= 0 && !data.empty()) {
        const ssize_t put = write(to_, data.data(), data.size());
        if (put < 0 && errno == EAGAIN) {
            pollfd ready{to_, POLLOUT, 0};
            poll(&ready, 1, -1);
        } else if (put < 0 && errno != EINTR) {
            // nobody reads it any more
            to_ = -1;
            return;
        }
        data.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
    }
}

void Capture::take(std::string_view data) {
    total_ += data.size();
    write_on(data);
    look_for_misplaced(data);
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

// One is enough to report: from then on nothing is looked for.
void Capture::look_for_misplaced(std::string_view data) {
    constexpr std::size_t kShown = 200;
    // a mark may begin in one piece and end in the next; of the line before it a part is kept, too
    const std::string_view begin = data.substr(0, kShown);
    for (const bool joint : {true, false}) {
        const std::string joined = joint ? before_ + std::string(begin) : std::string();
        const std::string_view text = joint ? std::string_view(joined) : data;
        for (std::size_t at = 1; misplaced_.empty() && at < text.size(); ++at) {
            // most of what programs print has none, and is passed over at the speed of memory
            at = std::min(text.find('{', at), text.size());
            if (text.compare(at, kProtocol.size(), kProtocol) == 0 && text[at - 1] != '\n') {
                const std::size_t feed = text.rfind('\n', at) + 1;  // none: from the beginning
                const std::size_t from = std::max(feed, at - std::min(at, kShown / 2));
                misplaced_ = text.substr(from, std::min(text.find('\n', at) - from, kShown));
            }
        }
    }
    if (misplaced_.empty()) {
        before_ += data.substr(data.size() - std::min(data.size(), kShown));
        before_.erase(0, before_.size() - std::min(before_.size(), kShown));
    }
}

void Capture::scan(std::string_view data) {
    while (!data.empty()) {
        if (skipping_) {
            // a chatty program must not wait for us: only lines that may be of the protocol are looked at
            const void* next = memmem(data.data(), data.size(), "\n{", 2);
            if (next == nullptr) {
                answer(data);
                skipping_ = data.back() != '\n';
                return;
            }
            const auto length = static_cast<std::size_t>(static_cast<const char*>(next) - data.data()) + 1;
            answer(data.substr(0, length));
            skipping_ = false;
            data.remove_prefix(length);
        }
        const std::size_t feed = data.find('\n');
        const std::size_t part = std::min(std::min(feed, data.size()), kLongestLine + 1 - line_.size());
        line_.append(data.substr(0, part));
        if (!may_be_protocol(line_) || line_.size() > kLongestLine) {
            dropped_ += may_be_protocol(line_) ? 1 : 0;
            answer(line_);
            line_.clear();
            skipping_ = true;
            data.remove_prefix(part);
            continue;
        }
        if (feed == std::string_view::npos) {
            return;
        }
        line_.push_back('\n');
        end_line();
        data.remove_prefix(feed + 1);
    }
}

void Capture::end_line() {
    const std::size_t length = line_.size() - (line_.empty() || line_.back() != '\n' ? 0 : 1);
    if (length <= kProtocol.size()) {
        answer(line_);
    } else if (lines_.size() < kMostLines) {
        lines_.push_back(line_.substr(0, length));
    } else {
        ++dropped_;
    }
    line_.clear();
}

void Capture::answer(std::string_view data) {
    if (copy_ < 0) {
        return;
    }
    digest_.add(data);
    std::string_view kept = data.substr(0, most_ - std::min(most_, answer_bytes_));
    answer_bytes_ += data.size();
    while (!kept.empty()) {
        const ssize_t put = write(copy_, kept.data(), kept.size());
        if (put < 0 && errno != EINTR) {
            // the engine sees by its length that it is not whole, and compares by the digest
            most_ = 0;
            return;
        }
        kept.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
    }
}

void Capture::keep_answer(int copy, std::uint64_t most) {
    copy_ = copy;
    most_ = most;
    if (copy >= 0 && (ftruncate(copy, 0) != 0 || lseek(copy, 0, SEEK_SET) != 0)) {
        most_ = 0;
    }
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
