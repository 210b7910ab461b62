// SPDX-License-Identifier: BSD-3-Clause
// ISA-L's deflate. Its structures are declared as far as they are used, with more room behind than any version needs.
#include <algorithm>
#include <cstring>
#include <vector>

#include "codecs.h"
#include "symbols.h"

namespace compress {
namespace {

constexpr std::size_t kRoom = std::size_t{256} << 10;

struct Deflating {
    const std::uint8_t* next_in;
    std::uint32_t avail_in;
    std::uint32_t total_in;
    std::uint8_t* next_out;
    std::uint32_t avail_out;
    std::uint32_t total_out;
    void* codes;
    std::uint32_t level;
    std::uint32_t level_room;
    std::uint8_t* level_memory;
    std::uint16_t end_of_stream;
    std::uint16_t flush;
    std::uint16_t wrapper;
    std::uint16_t window_bits;
    std::uint8_t rest[kRoom];
};

struct Inflating {
    std::uint8_t* next_out;
    std::uint32_t avail_out;
    std::uint32_t total_out;
    const std::uint8_t* next_in;
    std::uint64_t read_in;
    std::uint32_t avail_in;
    std::uint8_t rest[kRoom];
};

// What the library's header recommends for levels 0 to 3.
constexpr std::uint32_t kLevelMemory[] = {0, 282624, 331776, 348160};

// The library's histogram of literals, lengths, distances and its table of positions.
constexpr std::size_t kHistogram = 18912;

// So much of a block shows how its bytes are distributed.
constexpr std::size_t kSample = std::size_t{256} << 10;

class Isal final : public Codec {
  public:
    Isal(void* handle, int level)
        : semi_(level == kSemiDynamic), level_(static_cast<std::uint32_t>(std::max(level, 0))) {
        bind(handle, "isal_deflate_init", deflate_init_);
        bind(handle, "isal_deflate", deflate_);
        bind(handle, "isal_inflate_init", inflate_init_);
        bind(handle, "isal_inflate", inflate_);
        memory_.resize(kLevelMemory[level_]);
        if (semi_) {
            bind(handle, "isal_update_histogram", count_);
            bind(handle, "isal_create_hufftables", make_codes_);
            histogram_.resize(kRoom);
            codes_.resize(kRoom);
        }
    }

    // a literal's code may have 15 bits
    [[nodiscard]] std::size_t bound(std::size_t size) const override { return 2 * size + 4096; }

    std::size_t pack(const std::uint8_t* in, std::size_t size, std::uint8_t* out, std::size_t room) override {
        deflate_init_(packing_.get());
        Deflating& s = *packing_;
        s.level = level_;
        s.level_memory = memory_.data();
        s.level_room = kLevelMemory[level_];
        s.end_of_stream = 1;
        if (semi_) {
            std::memset(histogram_.data(), 0, kHistogram);
            count_(const_cast<std::uint8_t*>(in), static_cast<int>(std::min(size, kSample)), histogram_.data());
            if (make_codes_(codes_.data(), histogram_.data()) != 0) {
                return 0;
            }
            s.codes = codes_.data();
        }
        s.next_in = in;
        s.avail_in = static_cast<std::uint32_t>(size);
        s.next_out = out;
        s.avail_out = static_cast<std::uint32_t>(room);
        return deflate_(packing_.get()) == 0 && s.avail_in == 0 && s.avail_out > 0 ? s.total_out : 0;
    }

    bool unpack(const std::uint8_t* in, std::size_t packed, std::uint8_t* out, std::size_t size) override {
        inflate_init_(unpacking_.get());
        Inflating& s = *unpacking_;
        s.next_in = in;
        s.avail_in = static_cast<std::uint32_t>(packed);
        s.next_out = out;
        s.avail_out = static_cast<std::uint32_t>(size);
        return inflate_(unpacking_.get()) == 0 && s.total_out == size;
    }

  private:
    bool semi_;
    std::uint32_t level_;
    std::unique_ptr<Deflating> packing_ = std::make_unique<Deflating>();
    std::unique_ptr<Inflating> unpacking_ = std::make_unique<Inflating>();
    std::vector<std::uint8_t> memory_, histogram_, codes_;
    void (*deflate_init_)(Deflating*) = nullptr;
    int (*deflate_)(Deflating*) = nullptr;
    void (*inflate_init_)(Inflating*) = nullptr;
    int (*inflate_)(Inflating*) = nullptr;
    void (*count_)(std::uint8_t*, int, void*) = nullptr;
    int (*make_codes_)(void*, void*) = nullptr;
};

}  // namespace

std::unique_ptr<Codec> make_isal(void* handle, int level) { return std::make_unique<Isal>(handle, level); }

}  // namespace compress
