// SPDX-License-Identifier: BSD-3-Clause
#include "launch.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "control.h"

namespace transport {
namespace {

std::string on_path(const std::string& name) {
    const char* given = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
    std::istringstream folders(given == nullptr ? "" : given);
    for (std::string folder; std::getline(folders, folder, ':');) {
        folder.append("/").append(name);
        if (access(folder.c_str(), X_OK) == 0) {
            return folder;
        }
    }
    return "";
}

}  // namespace

std::vector<std::string> mpi_launcher(const std::string& file, void* library) {
    namespace fs = std::filesystem;
    const bool open_mpi = dlsym(library, "ompi_mpi_comm_world") != nullptr;
    const std::vector<std::string> names =
        open_mpi ? std::vector<std::string>{"mpiexec.openmpi", "mpirun.openmpi", "mpirun", "mpiexec"}
                 : std::vector<std::string>{"mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec"};
    std::string found;
    // one that came with the library, as in a folder of its own or a package of Python
    std::error_code none;
    const fs::path beside = fs::weakly_canonical(file, none).parent_path().parent_path() / "bin";
    for (const std::string& name : names) {
        if (found.empty() && beside != "/usr/bin" && access((beside / name).c_str(), X_OK) == 0) {
            found = beside / name;
        }
    }
    for (const std::string& name : names) {
        found = found.empty() ? on_path(name) : found;
    }
    if (found.empty()) {
        fail(std::string("its launcher is not here: apt-get install ") + (open_mpi ? "openmpi-bin" : "mpich"));
    }
    return {found, "-n", "2"};
}

}  // namespace transport
