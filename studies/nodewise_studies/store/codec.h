// SPDX-License-Identifier: BSD-3-Clause
// Compression of the log by a library of the system's, opened when it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace store {

// As the log names them; what is packed by own code has LZ4's format, and is named so there.
enum class Codec : std::uint32_t { kNone, kZlib, kLz4, kZstd, kOwn, kOwnAvx2 };

// How the log names what a codec makes.
Codec format_of(Codec codec);

// The codec of a name; `wrong` says why it cannot be used.
bool open_codec(const std::string& name, Codec& codec, std::string& wrong);

// Compresses; empty where that fails. The codec is open.
void compress(Codec codec, const std::vector<char>& from, std::vector<char>& to);
// Whether `bytes` of compressed data are `to.size()` again.
bool expand(Codec codec, const char* from, std::size_t bytes, std::vector<char>& to);

}  // namespace store
