// SPDX-License-Identifier: BSD-3-Clause
// PETSc's own vectors on the same arrays: what its Krylov solvers orthogonalise with (KSPGMRESModifiedGramSchmidt…,
// KSPGMRESClassicalGramSchmidt…), and the second basis likewise. Its library is opened when it runs: objects are
// pointers, whole numbers of 32 bits, as Debian and most builds have them.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>

#include "problem.h"
#include "study.h"

namespace gramschmidt {
namespace {

using Vec = void*;
constexpr int kNorm2 = 1;

struct Petsc {
    int (*initialize)(int*, char***, const char*, const char*);
    int (*create)(void* communicator, int block, int local, int global, const double*, Vec*);
    int (*dot)(Vec, Vec, double*);
    int (*axpy)(Vec, double, Vec);
    int (*mdot)(Vec, int, const Vec*, double*);
    int (*maxpy)(Vec, int, const double*, Vec*);
    int (*norm)(Vec, int, double*);
    int (*scale)(Vec, double);
    int (*get)(Vec, double**);
    int (*put_back)(Vec, double**);
    void** world;
};

template <typename Function>
bool find(const nw_run* run, const char* name, Function& into) {
    into = reinterpret_cast<Function>(dlsym(run->library, name));
    return into != nullptr;
}

bool load(const nw_run* run, Petsc& lib) {
    return find(run, "PetscInitialize", lib.initialize) && find(run, "VecCreateMPIWithArray", lib.create) &&
           find(run, "VecDot", lib.dot) && find(run, "VecAXPY", lib.axpy) && find(run, "VecMDot", lib.mdot) &&
           find(run, "VecMAXPY", lib.maxpy) && find(run, "VecNorm", lib.norm) && find(run, "VecScale", lib.scale) &&
           find(run, "VecGetArray", lib.get) && find(run, "VecRestoreArray", lib.put_back) &&
           find(run, "PETSC_COMM_WORLD", lib.world);
}

Scratch& scratch(nw_run* run) { return *static_cast<Scratch*>(run->own); }

// Copies what was given, as every variant does. The library keeps a vector's norm until it hears of a change.
void take(nw_run* run, const Petsc& lib, const Problem& p, int j) {
    const auto copy = [&](Vec vector, const double* from) {
        double* into = nullptr;
        lib.get(vector, &into);
        std::copy(from, from + p.n, into);
        lib.put_back(vector, &into);
    };
    copy(scratch(run).handles[static_cast<std::size_t>(j)], p.vector_of(p.v, j));
    if (p.update) {
        copy(scratch(run).more_handles[static_cast<std::size_t>(j)], p.vector_of(p.d0, j));
    }
}

int normalise(nw_run* run, const Petsc& lib, const Problem& p, int j) {
    const auto at = static_cast<std::size_t>(j);
    Scratch& s = scratch(run);
    double norm = 0;
    lib.norm(s.handles[at], kNorm2, &norm);
    if (!(norm > 0)) {
        return nw_fail(run, "vector %d depends on those before it", j);
    }
    p.r_of(j, j) = norm;
    lib.scale(s.handles[at], 1 / norm);
    if (p.update) {
        lib.scale(s.more_handles[at], 1 / norm);
    }
    return 0;
}

}  // namespace

int prepare_petsc(nw_run* run) {
    Petsc lib{};
    if (!load(run, lib)) {
        return nw_fail(run, "the library is no PETSc with real numbers");
    }
    if (run->threads > 1) {
        // it has one thread a rank, which is not what was asked for
        nw_report(run, "for_scale", 1);
    }
    if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") == nullptr) {
        return nw_fail(run, "this PETSc is not of Open MPI, whose communicators alone are known here");
    }
    prepare(run);
    if (lib.initialize(nullptr, nullptr, nullptr, nullptr) != 0) {
        return nw_fail(run, "PetscInitialize failed");
    }
    const Problem p = problem(run);
    Scratch& s = scratch(run);
    for (int j = 0; j < p.vectors; ++j) {
        s.handles.push_back(nullptr);
        lib.create(*lib.world, 1, static_cast<int>(p.n), static_cast<int>(p.whole), p.vector_of(p.q, j),
                   &s.handles.back());
        if (p.update) {
            s.more_handles.push_back(nullptr);
            lib.create(*lib.world, 1, static_cast<int>(p.n), static_cast<int>(p.whole), p.vector_of(p.d, j),
                       &s.more_handles.back());
        }
    }
    return 0;
}

int petsc_modified(nw_run* run) {
    Petsc lib{};
    if (!load(run, lib)) {
        return nw_fail(run, "the library is no PETSc with real numbers");
    }
    const Problem p = problem(run);
    Scratch& s = scratch(run);
    std::fill(p.r, p.r + std::int64_t{p.vectors} * p.vectors, 0.0);
    for (int j = 0; j < p.vectors; ++j) {
        take(run, lib, p, j);
        const auto at = static_cast<std::size_t>(j);
        for (std::size_t i = 0; i < at; ++i) {
            double a = 0;
            lib.dot(s.handles[at], s.handles[i], &a);
            lib.axpy(s.handles[at], -a, s.handles[i]);
            if (p.update) {
                lib.axpy(s.more_handles[at], -a, s.more_handles[i]);
            }
            p.r_of(static_cast<int>(i), j) = a;
        }
        if (normalise(run, lib, p, j) != 0) {
            return 1;
        }
    }
    return 0;
}

int petsc_classic(nw_run* run) {
    Petsc lib{};
    if (!load(run, lib)) {
        return nw_fail(run, "the library is no PETSc with real numbers");
    }
    const Problem p = problem(run);
    Scratch& s = scratch(run);
    std::fill(p.r, p.r + std::int64_t{p.vectors} * p.vectors, 0.0);
    for (int j = 0; j < p.vectors; ++j) {
        take(run, lib, p, j);
        const auto at = static_cast<std::size_t>(j);
        if (j > 0) {
            lib.mdot(s.handles[at], j, s.handles.data(), s.a.data());
            for (std::size_t i = 0; i < at; ++i) {
                p.r_of(static_cast<int>(i), j) = s.a[i];
                s.b[i] = -s.a[i];
            }
            lib.maxpy(s.handles[at], j, s.b.data(), s.handles.data());
            if (p.update) {
                lib.maxpy(s.more_handles[at], j, s.b.data(), s.more_handles.data());
            }
        }
        if (normalise(run, lib, p, j) != 0) {
            return 1;
        }
    }
    return 0;
}

}  // namespace gramschmidt
