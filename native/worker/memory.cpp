// SPDX-License-Identifier: BSD-3-Clause
#include "worker/memory.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "abi/kernel.h"

namespace nodewise {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// memkind's interface for high-bandwidth memory (hbwmalloc(3)); it is opened where it is installed.
struct FastMemory {
    int (*available)() = nullptr;
    int (*take)(void**, std::size_t, std::size_t) = nullptr;
    void (*free)(void*) = nullptr;
};

const FastMemory* fast_memory() {
    static const FastMemory found = [] {
        FastMemory made;
        if (void* library = dlopen("libmemkind.so.0", RTLD_NOW | RTLD_LOCAL); library != nullptr) {
            made.available = reinterpret_cast<int (*)()>(dlsym(library, "hbw_check_available"));
            made.take =
                reinterpret_cast<int (*)(void**, std::size_t, std::size_t)>(dlsym(library, "hbw_posix_memalign"));
            made.free = reinterpret_cast<void (*)(void*)>(dlsym(library, "hbw_free"));
        }
        return made;
    }();
    const bool whole = found.available != nullptr && found.take != nullptr && found.free != nullptr;
    return whole && found.available() == 0 ? &found : nullptr;
}

}  // namespace

double available_memory() {
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        constexpr std::string_view kName = "MemAvailable:";
        if (line.compare(0, kName.size(), kName) == 0) {
            return std::strtod(line.c_str() + kName.size(), nullptr) * 1024;
        }
    }
    return 0;
}

Memory::~Memory() {
    for (const Piece& piece : pieces_) {
        piece.free(piece.data);
    }
}

void* Memory::take(std::size_t bytes, unsigned how) {
    const std::size_t page = (how & NW_HUGE) != 0 && bytes >= kHugePage ? kHugePage : kLine;
    // never zero bytes, and a vector beyond the end may be read
    const std::size_t rounded = (bytes + kLine + page - 1) / page * page;
    if ((how & NW_FAST) != 0) {
        void* data = nullptr;
        if (const FastMemory* fast = fast_memory(); fast != nullptr && fast->take(&data, page, rounded) == 0) {
            pieces_.push_back({data, fast->free});
            return data;
        }
        fast_ = false;
    }
    // through malloc's own door, so that a setting of the allocator applies
    void* data = std::aligned_alloc(page, rounded);
    if (data != nullptr) {
        if (page == kHugePage) {
            madvise(data, rounded, MADV_HUGEPAGE);
        }
        pieces_.push_back({data, std::free});
    }
    return data;
}

}  // namespace nodewise
