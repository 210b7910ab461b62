// SPDX-License-Identifier: BSD-3-Clause
// In place of ofi+… where this build is without libfabric.
#include "transport/door.h"

namespace nodewise::transport {

std::unique_ptr<Door> open_ofi_door(const Options& options, const Bell& /*bell*/) {
    throw Error(NWT_MISSING, options.scheme +
                                 ":// needs libfabric, which this build is without: install nodewise-transport, or "
                                 "build where libfabric is found (Debian: libfabric-dev)");
}

}  // namespace nodewise::transport
