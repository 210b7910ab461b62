// SPDX-License-Identifier: BSD-3-Clause
// How an MPI library's two ranks are started: by the launcher that it came with.
#pragma once

#include <string>
#include <vector>

namespace transport {

// The words before those of a rank, of the library in that file, which is loaded. Throws, naming the package, where its
// launcher is not here.
std::vector<std::string> mpi_launcher(const std::string& file, void* library);

}  // namespace transport
