// SPDX-License-Identifier: BSD-3-Clause
// A guest's first file system (a cpio archive, format newc), with files added behind.
#pragma once

#include <map>
#include <string>

namespace nodewise {

// Copies the archive `from` to `to`, and adds `files` by their names; the kernel unpacks one after the other.
// Raises std::system_error.
void write_archive(const std::string& from, const std::string& to, const std::map<std::string, std::string>& files);

}  // namespace nodewise
