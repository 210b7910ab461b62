// SPDX-License-Identifier: BSD-3-Clause
// libdeflate, Zstandard and LZ4, and the choice between all libraries.
#include "codecs.h"

#include <stdexcept>
#include <vector>

#include "symbols.h"

namespace compress {
namespace {

class Libdeflate final : public Codec {
  public:
    Libdeflate(void* handle, int level) {
        void* (*allocate)(int) = nullptr;
        void* (*allocate_unpacking)() = nullptr;
        bind(handle, "libdeflate_alloc_compressor", allocate);
        bind(handle, "libdeflate_alloc_decompressor", allocate_unpacking);
        bind(handle, "libdeflate_deflate_compress", pack_);
        bind(handle, "libdeflate_deflate_decompress", unpack_);
        bind(handle, "libdeflate_deflate_compress_bound", bound_);
        bind(handle, "libdeflate_free_compressor", free_);
        bind(handle, "libdeflate_free_decompressor", free_unpacking_);
        packing_ = allocate(level);
        unpacking_ = allocate_unpacking();
        if (packing_ == nullptr || unpacking_ == nullptr) {
            throw std::runtime_error("the library refuses level " + std::to_string(level));
        }
    }

    Libdeflate(const Libdeflate&) = delete;
    Libdeflate& operator=(const Libdeflate&) = delete;

    ~Libdeflate() override {
        free_(packing_);
        free_unpacking_(unpacking_);
    }

    [[nodiscard]] std::size_t bound(std::size_t size) const override { return bound_(packing_, size); }

    std::size_t pack(const std::uint8_t* in, std::size_t size, std::uint8_t* out, std::size_t room) override {
        return pack_(packing_, in, size, out, room);
    }

    bool unpack(const std::uint8_t* in, std::size_t packed, std::uint8_t* out, std::size_t size) override {
        std::size_t got = 0;
        return unpack_(unpacking_, in, packed, out, size, &got) == 0 && got == size;
    }

  private:
    void* packing_;
    void* unpacking_;
    std::size_t (*pack_)(void*, const void*, std::size_t, void*, std::size_t) = nullptr;
    int (*unpack_)(void*, const void*, std::size_t, void*, std::size_t, std::size_t*) = nullptr;
    std::size_t (*bound_)(void*, std::size_t) = nullptr;
    void (*free_)(void*) = nullptr;
    void (*free_unpacking_)(void*) = nullptr;
};

class Zstd final : public Codec {
  public:
    Zstd(void* handle, int level) : level_(level) {
        void* (*create)() = nullptr;
        void* (*create_unpacking)() = nullptr;
        bind(handle, "ZSTD_createCCtx", create);
        bind(handle, "ZSTD_createDCtx", create_unpacking);
        bind(handle, "ZSTD_compressCCtx", pack_);
        bind(handle, "ZSTD_decompressDCtx", unpack_);
        bind(handle, "ZSTD_compressBound", bound_);
        bind(handle, "ZSTD_isError", failed_);
        bind(handle, "ZSTD_freeCCtx", free_);
        bind(handle, "ZSTD_freeDCtx", free_unpacking_);
        packing_ = create();
        unpacking_ = create_unpacking();
    }

    Zstd(const Zstd&) = delete;
    Zstd& operator=(const Zstd&) = delete;

    ~Zstd() override {
        free_(packing_);
        free_unpacking_(unpacking_);
    }

    [[nodiscard]] std::size_t bound(std::size_t size) const override { return bound_(size); }

    std::size_t pack(const std::uint8_t* in, std::size_t size, std::uint8_t* out, std::size_t room) override {
        const std::size_t wrote = pack_(packing_, out, room, in, size, level_);
        return failed_(wrote) != 0 ? 0 : wrote;
    }

    bool unpack(const std::uint8_t* in, std::size_t packed, std::uint8_t* out, std::size_t size) override {
        return unpack_(unpacking_, out, size, in, packed) == size;
    }

  private:
    int level_;
    void* packing_;
    void* unpacking_;
    std::size_t (*pack_)(void*, void*, std::size_t, const void*, std::size_t, int) = nullptr;
    std::size_t (*unpack_)(void*, void*, std::size_t, const void*, std::size_t) = nullptr;
    std::size_t (*bound_)(std::size_t) = nullptr;
    unsigned (*failed_)(std::size_t) = nullptr;
    std::size_t (*free_)(void*) = nullptr;
    std::size_t (*free_unpacking_)(void*) = nullptr;
};

// As the program lz4 counts its levels: from 3 on it is the slower, denser LZ4 HC.
constexpr int kFirstDense = 3;

class Lz4 final : public Codec {
  public:
    Lz4(void* handle, int level) : level_(level) {
        int (*state_size)() = nullptr;
        bind(handle, level < kFirstDense ? "LZ4_sizeofState" : "LZ4_sizeofStateHC", state_size);
        bind(handle, level < kFirstDense ? "LZ4_compress_fast_extState" : "LZ4_compress_HC_extStateHC", pack_);
        bind(handle, "LZ4_decompress_safe", unpack_);
        bind(handle, "LZ4_compressBound", bound_);
        // of a type that is aligned as the library wants it
        state_.resize(static_cast<std::size_t>(state_size()) / sizeof(std::uint64_t) + 1);
    }

    [[nodiscard]] std::size_t bound(std::size_t size) const override {
        return static_cast<std::size_t>(bound_(static_cast<int>(size)));
    }

    std::size_t pack(const std::uint8_t* in, std::size_t size, std::uint8_t* out, std::size_t room) override {
        const int wrote = pack_(state_.data(), in, out, static_cast<int>(size), static_cast<int>(room), level_);
        return wrote > 0 ? static_cast<std::size_t>(wrote) : 0;
    }

    bool unpack(const std::uint8_t* in, std::size_t packed, std::uint8_t* out, std::size_t size) override {
        return unpack_(in, out, static_cast<int>(packed), static_cast<int>(size)) == static_cast<int>(size);
    }

  private:
    int level_;
    std::vector<std::uint64_t> state_;
    int (*pack_)(void*, const void*, void*, int, int, int) = nullptr;
    int (*unpack_)(const void*, void*, int, int) = nullptr;
    int (*bound_)(int) = nullptr;
};

}  // namespace

std::unique_ptr<Codec> make_codec(Library library, void* handle, int level) {
    switch (library) {
        case Library::kIsal:
            return make_isal(handle, level);
        case Library::kZlib:
            return make_zlib(handle, level);
        case Library::kZlibNg:
            return make_zlib_ng(handle, level);
        case Library::kLibdeflate:
            return std::make_unique<Libdeflate>(handle, level);
        case Library::kZstd:
            return std::make_unique<Zstd>(handle, level);
        case Library::kLz4:
            return std::make_unique<Lz4>(handle, level);
    }
    throw std::runtime_error("no such library");
}

}  // namespace compress
