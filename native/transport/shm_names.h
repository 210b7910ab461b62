// SPDX-License-Identifier: BSD-3-Clause
// What libfabric's provider shm keeps in /dev/shm has names of ours. It stays there where its process is killed; so
// each is locked by its owner, and whose lock has gone is removed by who comes next, or by a peer that is left.
#pragma once

#include <span>
#include <string>

#include "transport/os.h"

namespace nodewise::transport {

std::string new_shm_name();
// Of what a peer says that its end is called; throws Error(NWT_REFUSED) for another kind of name.
std::string shm_name_of(std::span<const std::byte> end);
// As long as this is open, it is not swept.
Fd hold_shm(const std::string& name);
// All without an owner; or one of them, and whether it is gone: who dies may still have its lock when its socket has
// ended.
void sweep_shm();
bool sweep_shm(const std::string& name);

}  // namespace nodewise::transport
