// SPDX-License-Identifier: BSD-3-Clause
#include "cuda.h"

#include <dlfcn.h>

#include <array>
#include <stdexcept>

namespace gpucopy {

template <typename Call>
void Driver::find(Call& call, const char* name) const {
    void* symbol = dlsym(library_, name);
    if (symbol == nullptr) {
        throw std::runtime_error(std::string("libcuda has no ") + name);
    }
    call = reinterpret_cast<Call>(symbol);
}

Driver::Driver(void* library, Use use) : library_(library) {
    int (*init)(unsigned) = nullptr;
    int (*count_of)(int*) = nullptr;
    int (*device_of)(int*, int) = nullptr;
    int (*create)(void**, unsigned, int) = nullptr;
    find(explain_, "cuGetErrorString");
    find(init, "cuInit");
    find(count_of, "cuDeviceGetCount");
    find(device_of, "cuDeviceGet");
    find(create, "cuCtxCreate_v2");
    find(free_, "cuMemFree_v2");
    find(free_host_, "cuMemFreeHost");
    find(to_device_, "cuMemcpyHtoD_v2");
    find(to_host_, "cuMemcpyDtoH_v2");
    find(to_device_async_, "cuMemcpyHtoDAsync_v2");
    find(to_host_async_, "cuMemcpyDtoHAsync_v2");
    find(synchronize_, "cuCtxSynchronize");
    must(init(0), "cuInit");
    int count = 0;
    must(count_of(&count), "cuDeviceGetCount");
    if (count < 1) {
        throw std::runtime_error("CUDA finds no device");
    }
    must(device_of(&device_, 0), "cuDeviceGet");
    if (use == Use::kCopy) {
        must(create(&context_, 0, device_), "cuCtxCreate");
    }
}

Driver::~Driver() {
    auto* destroy = reinterpret_cast<int (*)(void*)>(dlsym(library_, "cuCtxDestroy_v2"));
    if (context_ != nullptr && destroy != nullptr) {
        destroy(context_);
    }
}

void Driver::must(int result, const char* call) const {
    if (result == 0) {
        return;
    }
    const char* words = nullptr;
    explain_(result, &words);
    throw std::runtime_error(std::string(call) + ": " + (words != nullptr ? words : "error " + std::to_string(result)));
}

Address Driver::device_memory(std::size_t bytes) {
    int (*allocate)(Address*, std::size_t) = nullptr;
    find(allocate, "cuMemAlloc_v2");
    Address memory = 0;
    must(allocate(&memory, bytes), "cuMemAlloc");
    return memory;
}

void* Driver::pinned(std::size_t bytes) {
    int (*allocate)(void**, std::size_t) = nullptr;
    find(allocate, "cuMemAllocHost_v2");
    void* memory = nullptr;
    must(allocate(&memory, bytes), "cuMemAllocHost");
    return memory;
}

void Driver::begin_to_device(Address to, const void* from, std::size_t bytes) const {
    must(to_device_async_(to, from, bytes, nullptr), "cuMemcpyHtoDAsync");
}

void Driver::begin_to_host(void* to, Address from, std::size_t bytes) const {
    must(to_host_async_(to, from, bytes, nullptr), "cuMemcpyDtoHAsync");
}

std::string Driver::name() const {
    int (*ask)(char*, int, int) = nullptr;
    find(ask, "cuDeviceGetName");
    std::array<char, 128> text{};
    must(ask(text.data(), static_cast<int>(text.size()), device_), "cuDeviceGetName");
    return text.data();
}

int Driver::version() const {
    int (*ask)(int*) = nullptr;
    find(ask, "cuDriverGetVersion");
    int version = 0;
    must(ask(&version), "cuDriverGetVersion");
    return version;
}

std::string Driver::bus() const {
    int (*ask)(char*, int, int) = nullptr;
    find(ask, "cuDeviceGetPCIBusId");
    std::array<char, 32> text{};
    must(ask(text.data(), static_cast<int>(text.size()), device_), "cuDeviceGetPCIBusId");
    std::string bus(text.data());
    for (char& letter : bus) {
        letter = static_cast<char>(letter >= 'A' && letter <= 'F' ? letter - 'A' + 'a' : letter);
    }
    return bus;
}

}  // namespace gpucopy
