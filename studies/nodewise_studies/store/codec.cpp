// SPDX-License-Identifier: BSD-3-Clause
#include "codec.h"

#include <dlfcn.h>

#include "own.h"

namespace store {
namespace {

// The functions as the libraries' headers declare them.
struct Zlib {
    unsigned long (*bound)(unsigned long) = nullptr;
    int (*compress)(unsigned char*, unsigned long*, const unsigned char*, unsigned long, int) = nullptr;
    int (*expand)(unsigned char*, unsigned long*, const unsigned char*, unsigned long) = nullptr;
};
struct Lz4 {
    int (*bound)(int) = nullptr;
    int (*compress)(const char*, char*, int, int) = nullptr;
    int (*expand)(const char*, char*, int, int) = nullptr;
};
struct Zstd {
    std::size_t (*bound)(std::size_t) = nullptr;
    std::size_t (*compress)(void*, std::size_t, const void*, std::size_t, int) = nullptr;
    std::size_t (*expand)(void*, std::size_t, const void*, std::size_t) = nullptr;
    unsigned (*failed)(std::size_t) = nullptr;
};

Zlib zlib;
Lz4 lz4;
Zstd zstd;

// The fastest of each library: a log has to keep up.
constexpr int kLevel = 1;

template <class Function>
bool find(void* library, const char* name, Function*& into) {
    into = reinterpret_cast<Function*>(dlsym(library, name));  // POSIX lets a function's address travel as a void*
    return into != nullptr;
}

void* library(const char* file, const char* package, std::string& wrong) {
    void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        wrong = std::string(file) + " is not installed: apt-get install " + package;
    }
    return handle;
}

unsigned char* bytes(char* text) { return reinterpret_cast<unsigned char*>(text); }
const unsigned char* bytes(const char* text) { return reinterpret_cast<const unsigned char*>(text); }

}  // namespace

Codec format_of(Codec codec) { return codec == Codec::kOwn || codec == Codec::kOwnAvx2 ? Codec::kLz4 : codec; }

bool open_codec(const std::string& name, Codec& codec, std::string& wrong) {
    codec = Codec::kNone;
    if (name == "none") {
        return true;
    }
    bool good = false;
    if (name == "zlib") {
        void* handle = library("libz.so.1", "zlib1g", wrong);
        good = handle != nullptr && find(handle, "compressBound", zlib.bound) &&
               find(handle, "compress2", zlib.compress) && find(handle, "uncompress", zlib.expand);
        codec = Codec::kZlib;
    } else if (name == "lz4" || name == "own" || name == "own-avx2") {
        void* handle = library("liblz4.so.1", "liblz4-1", wrong);
        good = handle != nullptr && find(handle, "LZ4_compressBound", lz4.bound) &&
               find(handle, "LZ4_compress_default", lz4.compress) && find(handle, "LZ4_decompress_safe", lz4.expand);
        codec = name == "lz4" ? Codec::kLz4 : name == "own" ? Codec::kOwn : Codec::kOwnAvx2;
        if (codec == Codec::kOwnAvx2 && !has_avx2()) {
            wrong = "this processor has no AVX2: compress=own does without";
            return false;
        }
    } else if (name == "zstd") {
        void* handle = library("libzstd.so.1", "libzstd1", wrong);
        good = handle != nullptr && find(handle, "ZSTD_compressBound", zstd.bound) &&
               find(handle, "ZSTD_compress", zstd.compress) && find(handle, "ZSTD_decompress", zstd.expand) &&
               find(handle, "ZSTD_isError", zstd.failed);
        codec = Codec::kZstd;
    }
    if (!good && wrong.empty()) {
        wrong = "the library for " + name + " lacks a function";
    }
    return good;
}

void compress(Codec codec, const std::vector<char>& from, std::vector<char>& to) {
    std::size_t done = 0;
    if (codec == Codec::kZlib) {
        unsigned long room = zlib.bound(from.size());
        to.resize(room);
        done = zlib.compress(bytes(to.data()), &room, bytes(from.data()), from.size(), kLevel) == 0 ? room : 0;
    } else if (codec == Codec::kLz4) {
        const int size = static_cast<int>(from.size());
        to.resize(static_cast<std::size_t>(lz4.bound(size)));
        const int got = lz4.compress(from.data(), to.data(), size, static_cast<int>(to.size()));
        done = got > 0 ? static_cast<std::size_t>(got) : 0;
    } else if (codec == Codec::kOwn || codec == Codec::kOwnAvx2) {
        to.resize(own_bound(from.size()));
        std::vector<std::uint32_t> last(kPlaces, 0);
        done = (codec == Codec::kOwn ? pack_plain : pack_avx2)(from.data(), from.size(), to.data(), last.data());
    } else if (codec == Codec::kZstd) {
        to.resize(zstd.bound(from.size()));
        const std::size_t got = zstd.compress(to.data(), to.size(), from.data(), from.size(), kLevel);
        done = zstd.failed(got) != 0 ? 0 : got;
    }
    to.resize(done);
}

bool expand(Codec codec, const char* from, std::size_t count, std::vector<char>& to) {
    if (codec == Codec::kZlib) {
        unsigned long room = to.size();
        return zlib.expand(bytes(to.data()), &room, bytes(from), count) == 0 && room == to.size();
    }
    if (codec == Codec::kLz4) {
        const int room = static_cast<int>(to.size());
        return lz4.expand(from, to.data(), static_cast<int>(count), room) == room;
    }
    const std::size_t got = zstd.expand(to.data(), to.size(), from, count);
    return zstd.failed(got) == 0 && got == to.size();
}

}  // namespace store
