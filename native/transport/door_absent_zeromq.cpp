// SPDX-License-Identifier: BSD-3-Clause
// In place of tcp and ipc where this build is without ZeroMQ.
#include "transport/door.h"

namespace nodewise::transport {

std::unique_ptr<Door> open_zeromq_door(const Options& options, const Bell& /*bell*/) {
    throw Error(NWT_MISSING, options.scheme +
                                 ":// needs ZeroMQ, which this build is without: install nodewise-transport, or build "
                                 "where libzmq is found (Debian: libzmq3-dev)");
}

}  // namespace nodewise::transport
