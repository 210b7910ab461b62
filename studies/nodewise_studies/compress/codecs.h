// SPDX-License-Identifier: BSD-3-Clause
// The compression libraries behind one interface, each opened when the program runs, so that none has to be there when
// it is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace compress {

enum class Library : std::uint8_t { kIsal, kZlib, kZlibNg, kLibdeflate, kZstd, kLz4 };

// ISA-L's level 0 with Huffman codes made from a sample of the data, in place of those that the library comes with.
constexpr int kSemiDynamic = -1;

// One library at one level, with the state that it needs; for one thread at a time. A block is packed by itself,
// without header or checksum where the format can do without.
class Codec {
  public:
    Codec() = default;
    virtual ~Codec() = default;
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;

    // The most bytes that so many become.
    [[nodiscard]] virtual std::size_t bound(std::size_t size) const = 0;

    // How many bytes were written, 0 where it failed.
    virtual std::size_t pack(const std::uint8_t* in, std::size_t size, std::uint8_t* out, std::size_t room) = 0;

    // Whether these bytes became exactly `size` others.
    virtual bool unpack(const std::uint8_t* in, std::size_t packed, std::uint8_t* out, std::size_t size) = 0;
};

// `handle` is the library as dlopen gave it. Throws std::runtime_error where it lacks a function or refuses the level.
std::unique_ptr<Codec> make_codec(Library library, void* handle, int level);

// Those by which make_codec makes them.
std::unique_ptr<Codec> make_isal(void* handle, int level);
std::unique_ptr<Codec> make_zlib(void* handle, int level);
std::unique_ptr<Codec> make_zlib_ng(void* handle, int level);

}  // namespace compress
