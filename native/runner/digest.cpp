// SPDX-License-Identifier: BSD-3-Clause
#include "runner/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nodewise {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87U;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FU;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9U;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63U;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5U;

// Words are read little-endian, on any machine.
template <typename Word>
std::uint64_t read(std::string_view from) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
        word |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
    }
    return word;
}

std::uint64_t mixed(std::uint64_t lane, std::uint64_t word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

}  // namespace

void Digest::reset() {
    lanes_ = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
    rest_size_ = 0;
    total_ = 0;
}

void Digest::mix(std::string_view stripe) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        lanes_[i] = mixed(lanes_[i], read<std::uint64_t>(stripe.substr(8 * i)));
    }
}

void Digest::add(std::string_view data) {
    total_ += data.size();
    if (rest_size_ > 0) {
        const std::size_t count = std::min(data.size(), kStripe - rest_size_);
        std::memcpy(rest_.data() + rest_size_, data.data(), count);
        rest_size_ += count;
        data.remove_prefix(count);
        if (rest_size_ < kStripe) {
            return;
        }
        mix({rest_.data(), kStripe});
        rest_size_ = 0;
    }
    for (; data.size() >= kStripe; data.remove_prefix(kStripe)) {
        mix(data);
    }
    std::copy(data.begin(), data.end(), rest_.begin());
    rest_size_ = data.size();
}

std::uint64_t Digest::value() const {
    std::uint64_t hash = kPrime5;
    if (total_ >= kStripe) {
        hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
        for (const std::uint64_t lane : lanes_) {
            hash = (hash ^ mixed(0, lane)) * kPrime1 + kPrime4;
        }
    }
    hash += total_;
    std::string_view rest(rest_.data(), rest_size_);
    for (; rest.size() >= 8; rest.remove_prefix(8)) {
        hash = std::rotl(hash ^ mixed(0, read<std::uint64_t>(rest)), 27) * kPrime1 + kPrime4;
    }
    if (rest.size() >= 4) {
        hash = std::rotl(hash ^ (read<std::uint32_t>(rest) * kPrime1), 23) * kPrime2 + kPrime3;
        rest.remove_prefix(4);
    }
    for (const char byte : rest) {
        hash = std::rotl(hash ^ (static_cast<unsigned char>(byte) * kPrime5), 11) * kPrime1;
    }
    hash = (hash ^ (hash >> 33U)) * kPrime2;
    hash = (hash ^ (hash >> 29U)) * kPrime3;
    return hash ^ (hash >> 32U);
}

}  // namespace nodewise
