// SPDX-License-Identifier: BSD-3-Clause
// zlib, and zlib-ng by its own names: the structure of the stream is the same as far as it is used here.
#include "codecs.h"
#include "symbols.h"

namespace compress {
namespace {

struct Stream {
    const std::uint8_t* next_in;
    std::uint32_t avail_in;
    std::uint64_t total_in;
    std::uint8_t* next_out;
    std::uint32_t avail_out;
    std::uint64_t total_out;
    const char* message;
    void* state;
    void* allocate;
    void* free;
    void* opaque;
    std::uint8_t rest[64];
};

constexpr int kStreamSize = 112;  // sizeof(z_stream), which the library asks for
constexpr int kFinish = 4, kStreamEnd = 1, kDeflated = 8, kMemory = 8;
constexpr int kRaw = -15;  // no header, the largest window

class Zlib final : public Codec {
  public:
    Zlib(void* handle, int level, bool ng) {
        const std::string start = ng ? "zng_" : "";
        bind(handle, (start + "deflate").c_str(), deflate_);
        bind(handle, (start + "deflateReset").c_str(), deflate_reset_);
        bind(handle, (start + "deflateEnd").c_str(), deflate_end_);
        bind(handle, (start + "inflate").c_str(), inflate_);
        bind(handle, (start + "inflateReset").c_str(), inflate_reset_);
        bind(handle, (start + "inflateEnd").c_str(), inflate_end_);
        if (ng ? !start_ng(handle, level) : !start_zlib(handle, level)) {
            throw std::runtime_error("the library refuses level " + std::to_string(level));
        }
    }

    Zlib(const Zlib&) = delete;
    Zlib& operator=(const Zlib&) = delete;

    ~Zlib() override {
        deflate_end_(&packing_);
        inflate_end_(&unpacking_);
    }

    // stored blocks of the smallest memory, and zlib-ng's level 1, which may need 9 bits for a byte
    [[nodiscard]] std::size_t bound(std::size_t size) const override { return size + size / 7 + 1024; }

    std::size_t pack(const std::uint8_t* in, std::size_t size, std::uint8_t* out, std::size_t room) override {
        deflate_reset_(&packing_);
        give(packing_, in, size, out, room);
        return deflate_(&packing_, kFinish) == kStreamEnd ? static_cast<std::size_t>(packing_.total_out) : 0;
    }

    bool unpack(const std::uint8_t* in, std::size_t packed, std::uint8_t* out, std::size_t size) override {
        inflate_reset_(&unpacking_);
        give(unpacking_, in, packed, out, size);
        return inflate_(&unpacking_, kFinish) == kStreamEnd && unpacking_.total_out == size;
    }

  private:
    bool start_zlib(void* handle, int level) {
        int (*deflate_init)(Stream*, int, int, int, int, int, const char*, int) = nullptr;
        int (*inflate_init)(Stream*, int, const char*, int) = nullptr;
        bind(handle, "deflateInit2_", deflate_init);
        bind(handle, "inflateInit2_", inflate_init);
        return deflate_init(&packing_, level, kDeflated, kRaw, kMemory, 0, "1", kStreamSize) == 0 &&
               inflate_init(&unpacking_, kRaw, "1", kStreamSize) == 0;
    }

    bool start_ng(void* handle, int level) {
        std::int32_t (*deflate_init)(Stream*, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t) =
            nullptr;
        std::int32_t (*inflate_init)(Stream*, std::int32_t) = nullptr;
        bind(handle, "zng_deflateInit2", deflate_init);
        bind(handle, "zng_inflateInit2", inflate_init);
        return deflate_init(&packing_, level, kDeflated, kRaw, kMemory, 0) == 0 && inflate_init(&unpacking_, kRaw) == 0;
    }

    static void give(Stream& s, const std::uint8_t* in, std::size_t size, std::uint8_t* out, std::size_t room) {
        s.next_in = in;
        s.avail_in = static_cast<std::uint32_t>(size);
        s.next_out = out;
        s.avail_out = static_cast<std::uint32_t>(room);
    }

    Stream packing_{}, unpacking_{};
    int (*deflate_)(Stream*, int) = nullptr;
    int (*deflate_reset_)(Stream*) = nullptr;
    int (*deflate_end_)(Stream*) = nullptr;
    int (*inflate_)(Stream*, int) = nullptr;
    int (*inflate_reset_)(Stream*) = nullptr;
    int (*inflate_end_)(Stream*) = nullptr;
};

}  // namespace

std::unique_ptr<Codec> make_zlib(void* handle, int level) { return std::make_unique<Zlib>(handle, level, false); }

std::unique_ptr<Codec> make_zlib_ng(void* handle, int level) { return std::make_unique<Zlib>(handle, level, true); }

}  // namespace compress
