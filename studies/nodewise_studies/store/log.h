// SPDX-License-Identifier: BSD-3-Clause
// The log: records go to memory in the order in which they come, and to the file in groups, each with a checksum.
// A transaction is acknowledged when its group is on the disk. Whoever waits first writes for all.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "codec.h"
#include "study.h"

namespace store {

// What is waited for before a group counts as written: the disk with or without the file's times; nothing but the
// kernel, which keeps it if the program dies, not if the power fails.
enum class Sync { kNone, kData, kAll };
Sync sync_of(const nw_run* run);

// A group in the file: this, then `stored` bytes. The checksum is of all after itself, data included.
struct Group {
    std::uint32_t checksum;
    std::uint32_t mark;
    std::uint64_t sequence;
    std::uint32_t codec;
    std::uint32_t records;
    std::uint32_t raw;  // bytes when expanded
    std::uint32_t stored;
};

class Log {
  public:
    Log(int fd, Codec codec, Sync sync) : fd_(fd), codec_(codec), sync_(sync) {}

    // Takes a record; its place in the log is what to wait for.
    std::uint64_t append(const Record& record, const char* text);

    // Waits until all up to a place are written; false where the file cannot be written.
    bool wait(std::uint64_t place);

    std::uint64_t groups() const { return sequence_; }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t raw_bytes() const { return raw_bytes_; }
    double packing_seconds() const { return packing_seconds_; }
    int error() const { return error_; }

  private:
    bool write_group(std::uint32_t records);

    std::mutex mutex_;
    std::condition_variable written_;
    std::vector<char> filling_;
    std::vector<char> writing_;  // by whoever writes, and nobody else, as what follows
    std::vector<char> packed_;
    std::uint64_t appended_ = 0;
    std::uint64_t durable_ = 0;
    bool busy_ = false;
    int error_ = 0;
    int fd_;
    Codec codec_;
    Sync sync_;
    std::uint64_t sequence_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t raw_bytes_ = 0;
    double packing_seconds_ = 0;
};

// All whole groups of a log from its beginning, up to the first that is torn, wrong or missing, handed to `take` record
// by record. False where the file cannot be read or a codec is missing.
bool replay(int fd, void (*take)(void* to, const Record& record), void* to, std::string& wrong);

// Bytes of a file, at a place; false where it cannot be done.
bool write_at(int fd, const void* data, std::size_t bytes, std::uint64_t place);

}  // namespace store
