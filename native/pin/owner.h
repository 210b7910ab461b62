// SPDX-License-Identifier: BSD-3-Clause
// Which kind of library a piece of code belongs to, found without the loader: its lock may be held for long, by a
// thread that waits for the very thread that asks (a library's constructor that joins what it started).
#pragma once

namespace nodewise {

enum class Owner : unsigned char { kUnknown, kProgram, kOpenmp, kHelper };

// kProgram also where that is not known. Takes no lock, allocates nothing, is no point of cancellation.
Owner owner_of(const void* code);

}  // namespace nodewise
