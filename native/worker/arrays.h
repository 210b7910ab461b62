// SPDX-License-Identifier: BSD-3-Clause
// Arrays to and from other programs, in NumPy's format (numpy.lib.format, version 1.0): flat, little-endian.
#pragma once

#include <cstdint>
#include <cstdio>

#include "abi/kernel.h"

namespace nodewise {

// Bytes of one element.
std::size_t size_of(nw_type type);

// Throws std::runtime_error where not all could be written.
void write_array(const nw_buffer& buffer, std::FILE* file);

// Fills the buffer. Throws std::runtime_error where the array has another type or length, or ends too early.
void read_array(nw_buffer& buffer, std::FILE* file);

}  // namespace nodewise
