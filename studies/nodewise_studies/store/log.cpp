// SPDX-License-Identifier: BSD-3-Clause
#include "log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "crc.h"

namespace store {
namespace {

constexpr std::uint32_t kMark = 0x676f6c6e;  // "nlog"

// No group expands to more: a checksum that is right by chance does not take all memory.
constexpr std::uint32_t kMostRaw = 1U << 30;

// What a group may hold before others wait for the file, so that lengths fit.
constexpr std::size_t kMostFilling = 1U << 28;

std::uint32_t checksum_of(const std::vector<char>& group) {
    return crc32c(group.data() + sizeof(std::uint32_t), group.size() - sizeof(std::uint32_t));
}

bool read_at(int fd, void* data, std::size_t bytes, std::uint64_t place) {
    auto* to = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t done = pread(fd, to, bytes, static_cast<off_t>(place));
        if (done <= 0) {
            return false;
        }
        to += done;
        place += static_cast<std::uint64_t>(done);
        bytes -= static_cast<std::size_t>(done);
    }
    return true;
}

bool take_records(const std::vector<char>& raw, std::uint32_t count, void (*take)(void*, const Record&), void* to) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        Record record{};
        if (at + sizeof record > raw.size()) {
            return false;
        }
        std::memcpy(&record, raw.data() + at, sizeof record);
        if (record.size < sizeof record || at + record.size > raw.size()) {
            return false;
        }
        take(to, record);
        at += record.size;
    }
    return at == raw.size();
}

}  // namespace

bool write_at(int fd, const void* data, std::size_t bytes, std::uint64_t place) {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t done = pwrite(fd, from, bytes, static_cast<off_t>(place));
        if (done < 0 && errno != EINTR) {
            return false;
        }
        if (done > 0) {
            from += done;
            place += static_cast<std::uint64_t>(done);
            bytes -= static_cast<std::size_t>(done);
        }
    }
    return true;
}

std::uint64_t Log::append(const Record& record, const char* text) {
    std::unique_lock held(mutex_);
    written_.wait(held, [this] { return filling_.size() < kMostFilling || error_ != 0 || !busy_; });
    const auto* bytes = reinterpret_cast<const char*>(&record);
    filling_.insert(filling_.end(), bytes, bytes + sizeof record);
    filling_.insert(filling_.end(), text, text + (record.size - sizeof record));
    return ++appended_;
}

bool Log::wait(std::uint64_t place) {
    std::unique_lock held(mutex_);
    while (durable_ < place && error_ == 0) {
        if (busy_) {
            written_.wait(held);
            continue;
        }
        busy_ = true;
        std::swap(filling_, writing_);
        const std::uint64_t last = appended_;
        const auto records = static_cast<std::uint32_t>(last - durable_);
        held.unlock();
        const bool good = write_group(records);
        const int wrong = errno;
        held.lock();
        writing_.clear();
        busy_ = false;
        durable_ = good ? last : durable_;
        error_ = good ? 0 : wrong;
        written_.notify_all();
    }
    return error_ == 0;
}

bool Log::write_group(std::uint32_t records) {
    const std::vector<char>* data = &writing_;
    Codec codec = Codec::kNone;
    if (codec_ != Codec::kNone) {
        const auto begin = std::chrono::steady_clock::now();
        compress(codec_, writing_, packed_);
        packing_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        // what does not get smaller stays as it is
        if (!packed_.empty() && packed_.size() < writing_.size()) {
            data = &packed_;
            codec = format_of(codec_);
        }
    }
    Group head{0,
               kMark,
               sequence_,
               static_cast<std::uint32_t>(codec),
               records,
               static_cast<std::uint32_t>(writing_.size()),
               static_cast<std::uint32_t>(data->size())};
    std::vector<char> group(sizeof head + data->size());
    std::memcpy(group.data(), &head, sizeof head);
    std::memcpy(group.data() + sizeof head, data->data(), data->size());
    head.checksum = checksum_of(group);
    std::memcpy(group.data(), &head.checksum, sizeof head.checksum);
    if (!write_at(fd_, group.data(), group.size(), bytes_)) {
        return false;
    }
    if ((sync_ == Sync::kData && fdatasync(fd_) != 0) || (sync_ == Sync::kAll && fsync(fd_) != 0)) {
        return false;
    }
    ++sequence_;
    bytes_ += group.size();
    raw_bytes_ += writing_.size();
    return true;
}

bool replay(int fd, void (*take)(void* to, const Record& record), void* to, std::string& wrong) {
    constexpr const char* kNames[] = {"none", "zlib", "lz4", "zstd"};
    struct stat seen{};
    if (fstat(fd, &seen) != 0) {
        wrong = "the log cannot be read";
        return false;
    }
    const auto size = static_cast<std::uint64_t>(seen.st_size);
    std::uint64_t place = 0;
    Codec open = Codec::kNone;
    for (std::uint64_t sequence = 0;; ++sequence) {
        Group head{};
        if (place + sizeof head > size || !read_at(fd, &head, sizeof head, place)) {
            return true;
        }
        if (head.mark != kMark || head.sequence != sequence || head.raw > kMostRaw ||
            place + sizeof head + head.stored > size || head.codec >= sizeof kNames / sizeof *kNames) {
            return true;
        }
        std::vector<char> group(sizeof head + head.stored);
        if (!read_at(fd, group.data(), group.size(), place) || checksum_of(group) != head.checksum) {
            return true;
        }
        const auto codec = static_cast<Codec>(head.codec);
        if (codec != open && !open_codec(kNames[head.codec], open, wrong)) {
            return false;
        }
        open = codec == Codec::kNone ? open : codec;
        std::vector<char> raw(head.raw);
        if (codec == Codec::kNone) {
            raw.assign(group.begin() + sizeof head, group.end());
        } else if (!expand(codec, group.data() + sizeof head, head.stored, raw)) {
            wrong = "group " + std::to_string(sequence) + " has a right checksum but cannot be expanded";
            return false;
        }
        if (!take_records(raw, head.records, take, to)) {
            wrong = "group " + std::to_string(sequence) + " has a right checksum but wrong records";
            return false;
        }
        place += group.size();
    }
}

}  // namespace store
