// SPDX-License-Identifier: BSD-3-Clause
// The folders that were named, files without a name in them, and the page cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study.h"

namespace fileio {

// The folders of the knob, or where temporary files go.
std::vector<std::string> folders_of(const nw_run* run);

// Whether each is a folder that has `bytes` free; those on one filesystem share what it has. Else says what is wrong.
bool has_space(const std::vector<std::string>& folders, double bytes, std::string& wrong);

// A file in a folder that no other program sees and that is gone with this process, even if it is killed; fd is -1
// with errno set where there is none.
File file_in(const std::string& folder);

// Takes a file's pages out of the page cache, which must be on the disk: by advice, or all the machine's (root only).
enum class Cache { kKeep, kAdvise, kDrop };
bool evict(const File& file, Cache how);

// Which part of the file is in the page cache.
double cached_part(const File& file);

}  // namespace fileio
