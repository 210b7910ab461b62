// SPDX-License-Identifier: BSD-3-Clause
// What libfabric exports: all else goes through what these return.
#pragma once

#include <rdma/fabric.h>

namespace nodewise::transport {

struct FabricCalls {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_strerror) strerror;
};

constexpr const char* kFabricCalls = "nodewise_transport_fabric_calls";

}  // namespace nodewise::transport
