// SPDX-License-Identifier: BSD-3-Clause
#include "pin/owner.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "pin/maps.h"

namespace nodewise {
namespace {

constexpr std::size_t kChunk = 1024;  // threads may have small stacks
constexpr std::size_t kRemembered = 64;

constexpr const char* kOpenmpNames[] = {"libgomp", "libomp", "libiomp5"};
constexpr const char* kHelperNames[] = {"libmpi", "libopen-pal", "libopen-rte", "libpmix", "libprrte", "libucs",
                                        "libuct", "libfabric",   "libpsm",      "libcuda", "libhsa",   "libnccl"};

// Functions that threads begin at are few, and reading the maps takes a while.
struct Remembered {
    std::atomic<std::uintptr_t> code{0};
    std::atomic<Owner> owner{Owner::kUnknown};
};

Remembered remembered[kRemembered];

template <std::size_t Count>
bool starts_with_any(const char* name, const char* const (&list)[Count]) {
    for (const char* entry : list) {
        if (std::strncmp(name, entry, std::strlen(entry)) == 0) {
            return true;
        }
    }
    return false;
}

// kUnknown where the maps cannot be read.
Owner look_up(std::uintptr_t code) {
    // not open() and read(), which a thread that is to be cancelled would end in
    const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
    if (file < 0) {
        return Owner::kUnknown;
    }
    MapsReader reader(code);
    Owner owner = Owner::kUnknown;
    char chunk[kChunk];
    for (long got = 0; owner == Owner::kUnknown && (got = syscall(SYS_read, file, &chunk[0], kChunk)) > 0;) {
        for (long i = 0; i < got; ++i) {
            if (reader.take(chunk[i])) {
                const char* name = reader.name();
                owner = starts_with_any(name, kOpenmpNames)   ? Owner::kOpenmp
                        : starts_with_any(name, kHelperNames) ? Owner::kHelper
                                                              : Owner::kProgram;
                break;
            }
        }
    }
    syscall(SYS_close, file);
    return owner;
}

}  // namespace

Owner owner_of(const void* code) {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    std::size_t at = (address >> 4) % kRemembered;
    Remembered* slot = nullptr;
    for (std::size_t tries = 0; tries < kRemembered; ++tries, at = (at + 1) % kRemembered) {
        std::uintptr_t held = 0;
        if (remembered[at].code.compare_exchange_strong(held, address) || held == address) {
            slot = &remembered[at];
            break;
        }
    }
    Owner owner = slot != nullptr ? slot->owner.load() : Owner::kUnknown;
    if (owner == Owner::kUnknown) {
        owner = look_up(address);
        if (slot != nullptr) {
            slot->owner = owner;
        }
    }
    return owner == Owner::kUnknown ? Owner::kProgram : owner;
}

}  // namespace nodewise
