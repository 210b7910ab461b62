// SPDX-License-Identifier: BSD-3-Clause
// A module of its own, loaded with the first address that needs it: libraries that libfabric comes with set handlers of
// signals as soon as they are loaded, which no program that only uses shared memory shall meet.
#include "transport/fabric_calls.h"

namespace {

fi_info* duplicate(const fi_info* info) { return fi_dupinfo(info); }

}  // namespace

extern "C" __attribute__((visibility("default")))
const nodewise::transport::FabricCalls nodewise_transport_fabric_calls;
const nodewise::transport::FabricCalls nodewise_transport_fabric_calls{
    .getinfo = fi_getinfo,
    .freeinfo = fi_freeinfo,
    .dupinfo = duplicate,
    .fabric = fi_fabric,
    .strerror = fi_strerror,
};
