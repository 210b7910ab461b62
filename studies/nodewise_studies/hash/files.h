// SPDX-License-Identifier: BSD-3-Clause
// Digests of files, for programs that load this study's shared object.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

// Hashes `count` files, whose paths follow one another, each ended by 0. Digest i goes to `digests` at i times the
// function's size, and errors[i] is 0 or the system's error (then the digest is nothing). Not 0 for an unknown
// function.
int nodewise_hash_files(const char* function, const char* paths, size_t count, uint8_t* digests, int32_t* errors,
                        int threads);
}
