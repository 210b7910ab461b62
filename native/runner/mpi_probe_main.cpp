// SPDX-License-Identifier: BSD-3-Clause
// nodewise-mpi-probe LIBRARY: joins the job that it is started in by the MPI library of that name or path, and prints
// `nodewise-mpi-probe RANK SIZE`. It is linked with no MPI: what it needs of one is the same in all versions of a
// family.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

int main(int count, char** words) {
    if (count != 2) {
        std::fprintf(stderr, "usage: nodewise-mpi-probe LIBRARY\n");
        return 2;
    }
    // whoever starts it may as well start any other program
    void* library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);  // NOLINT(clang-analyzer-optin.taint.GenericTaint)
    if (library == nullptr) {
        std::fprintf(stderr, "nodewise-mpi-probe: %s\n", dlerror());  // NOLINT(concurrency-mt-unsafe): one thread
        return 3;
    }
    using Init = int (*)(int*, char***);
    using Finalize = int (*)();
    const auto init = reinterpret_cast<Init>(dlsym(library, "MPI_Init"));
    const auto finalize = reinterpret_cast<Finalize>(dlsym(library, "MPI_Finalize"));
    void* rank_of = dlsym(library, "MPI_Comm_rank");
    void* size_of = dlsym(library, "MPI_Comm_size");
    if (init == nullptr || finalize == nullptr || rank_of == nullptr || size_of == nullptr) {
        std::fprintf(stderr, "nodewise-mpi-probe: %s is no MPI library\n", words[1]);
        return 3;
    }
    int rank = -1;
    int size = -1;
    if (init(nullptr, nullptr) != 0) {
        return 4;
    }
    // a communicator is an address in Open MPI (mpi.h: ompi_mpi_comm_world), a number in MPICH and what keeps to its
    // binary interface (mpi.h: MPI_COMM_WORLD 0x44000000)
    if (void* world = dlsym(library, "ompi_mpi_comm_world")) {
        using Ask = int (*)(void*, int*);
        reinterpret_cast<Ask>(rank_of)(world, &rank);
        reinterpret_cast<Ask>(size_of)(world, &size);
    } else {
        constexpr int kWorld = 0x44000000;
        using Ask = int (*)(int, int*);
        reinterpret_cast<Ask>(rank_of)(kWorld, &rank);
        reinterpret_cast<Ask>(size_of)(kWorld, &size);
    }
    std::printf("nodewise-mpi-probe %d %d\n", rank, size);
    std::fflush(stdout);
    return finalize() == 0 ? 0 : 4;
}
