// SPDX-License-Identifier: BSD-3-Clause
// CUDA's driver API, as libcuda.so.1 has it: opened when it runs, so that neither its headers nor the library are
// needed to compile. Names and values are those of cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpucopy {

// Of cuda.h: CUdeviceptr, CUresult; contexts and events are pointers.
using Address = unsigned long long;

// What a driver is asked for: only about the device, or for memory and copies, which take a context of the device.
enum class Use { kAsk, kCopy };

class Driver {
  public:
    // `library` is libcuda.so.1, opened. Throws std::runtime_error with what it says, where there is no device.
    explicit Driver(void* library, Use use = Use::kCopy);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    Address device_memory(std::size_t bytes);
    void free_device(Address memory) const { must(free_(memory), "cuMemFree"); }
    void* pinned(std::size_t bytes);  // page-locked, so that the device reads it by itself
    void free_pinned(void* memory) const { must(free_host_(memory), "cuMemFreeHost"); }
    void to_device(Address to, const void* from, std::size_t bytes) const {
        must(to_device_(to, from, bytes), "cuMemcpyHtoD");
    }
    void to_host(void* to, Address from, std::size_t bytes) const { must(to_host_(to, from, bytes), "cuMemcpyDtoH"); }
    // Returns at once; `wait` until all that was begun is done.
    void begin_to_device(Address to, const void* from, std::size_t bytes) const;
    void begin_to_host(void* to, Address from, std::size_t bytes) const;
    void wait() const { must(synchronize_(), "cuCtxSynchronize"); }

    std::string name() const;
    int version() const;  // 12040 is 12.4
    // As sysfs names it, such as 0000:65:00.0.
    std::string bus() const;

  private:
    void must(int result, const char* call) const;
    template <typename Call>
    void find(Call& call, const char* name) const;
    void* library_;
    int device_ = 0;
    void* context_ = nullptr;
    int (*explain_)(int, const char**) = nullptr;
    int (*free_)(Address) = nullptr;
    int (*free_host_)(void*) = nullptr;
    int (*to_device_)(Address, const void*, std::size_t) = nullptr;
    int (*to_host_)(void*, Address, std::size_t) = nullptr;
    int (*to_device_async_)(Address, const void*, std::size_t, void*) = nullptr;
    int (*to_host_async_)(void*, Address, std::size_t, void*) = nullptr;
    int (*synchronize_)() = nullptr;
};

}  // namespace gpucopy
