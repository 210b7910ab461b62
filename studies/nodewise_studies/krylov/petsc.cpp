// SPDX-License-Identifier: BSD-3-Clause
// PETSc's solvers on the same arrays: KSPGMRES and KSPGCR, preconditioned from the right, by PCBJACOBI with PCILU of no
// further level, or PCJACOBI. Its library is opened when it runs: objects are pointers, whole numbers of 32 bits, as
// Debian and most builds have them.
#include <dlfcn.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "state.h"
#include "study.h"

namespace krylov {

using Object = void*;

struct Handles {
    std::vector<std::int32_t> begins;
    Object matrix = nullptr;
    Object solver = nullptr;
    Object x = nullptr;
    Object b = nullptr;
};

namespace {

struct Petsc {
    int (*initialize)(int*, char***, const char*, const char*);
    int (*set_option)(Object, const char*, const char*);
    int (*create_matrix)(Object, Object*);
    int (*set_sizes)(Object, int, int, int, int);
    int (*set_type)(Object, const char*);
    int (*fill_one)(Object, const int*, const int*, const double*);
    int (*fill_ranks)(Object, const int*, const int*, const double*);
    int (*create_vectors)(Object, Object*, Object*);
    int (*place)(Object, const double*);
    int (*create_solver)(Object, Object*);
    int (*set_operators)(Object, Object, Object);
    int (*from_options)(Object);
    int (*set_up)(Object);
    int (*set_up_blocks)(Object);
    int (*solve)(Object, Object, Object);
    int (*iterations)(Object, int*);
    int (*reason)(Object, int*);
    Object* world;
};

template <typename Function>
bool find(const nw_run* run, const char* name, Function& into) {
    into = reinterpret_cast<Function>(dlsym(run->library, name));
    return into != nullptr;
}

bool load(const nw_run* run, Petsc& lib) {
    return find(run, "PetscInitialize", lib.initialize) && find(run, "PetscOptionsSetValue", lib.set_option) &&
           find(run, "MatCreate", lib.create_matrix) && find(run, "MatSetSizes", lib.set_sizes) &&
           find(run, "MatSetType", lib.set_type) && find(run, "MatSeqAIJSetPreallocationCSR", lib.fill_one) &&
           find(run, "MatMPIAIJSetPreallocationCSR", lib.fill_ranks) &&
           find(run, "MatCreateVecs", lib.create_vectors) && find(run, "VecPlaceArray", lib.place) &&
           find(run, "KSPCreate", lib.create_solver) && find(run, "KSPSetOperators", lib.set_operators) &&
           find(run, "KSPSetFromOptions", lib.from_options) && find(run, "KSPSetUp", lib.set_up) &&
           find(run, "KSPSetUpOnBlocks", lib.set_up_blocks) && find(run, "KSPSolve", lib.solve) &&
           find(run, "KSPGetIterationNumber", lib.iterations) && find(run, "KSPGetConvergedReason", lib.reason) &&
           find(run, "PETSC_COMM_WORLD", lib.world);
}

// What a user would give on the command line.
std::vector<std::pair<std::string, std::string>> options(const nw_run* run, const Problem& p, const char* method,
                                                         bool modified) {
    const std::string restart = std::to_string(p.restart);
    std::vector<std::pair<std::string, std::string>> all = {
        {"-ksp_type", method},
        {std::string("-ksp_") + method + "_restart", restart},
        {"-ksp_pc_side", "right"},
        {"-ksp_rtol", nw_text(run, "tolerance") != nullptr ? nw_text(run, "tolerance") : "1e-8"},
        {"-ksp_atol", "0"},
        {"-ksp_max_it", std::to_string(p.most)}};
    if (modified) {
        all.emplace_back("-ksp_gmres_modifiedgramschmidt", "");
    }
    if (p.precondition == Kind::none) {
        all.emplace_back("-pc_type", "none");
    } else if (p.precondition == Kind::jacobi) {
        all.emplace_back("-pc_type", "jacobi");
    } else if (run->ranks == 1 && p.blocks == 1) {
        all.emplace_back("-pc_type", "ilu");
    } else {
        all.emplace_back("-pc_type", "bjacobi");
        all.emplace_back("-pc_bjacobi_local_blocks", std::to_string(p.blocks));
        all.emplace_back("-sub_pc_type", "ilu");
        all.emplace_back("-sub_ksp_type", "preonly");
    }
    return all;
}

int set_up(nw_run* run, const Petsc& lib, const char* method, bool modified) {
    const Problem p = problem(run);
    State& s = state(run);
    s.petsc = std::make_shared<Handles>();
    Handles& h = *s.petsc;
    h.begins.assign(1, 0);
    for (std::int64_t i = 0; i < p.n; ++i) {
        h.begins.push_back(h.begins.back() + p.counts[i]);
    }
    for (const auto& [name, value] : options(run, p, method, modified)) {
        lib.set_option(nullptr, name.c_str(), value.empty() ? nullptr : value.c_str());
    }
    const int n = static_cast<int>(p.n);
    const int whole = static_cast<int>(p.whole);
    int failed = lib.create_matrix(*lib.world, &h.matrix);
    failed |= lib.set_sizes(h.matrix, n, n, whole, whole);
    failed |= lib.set_type(h.matrix, "aij");
    // each does nothing to a matrix of the other kind
    failed |= lib.fill_one(h.matrix, h.begins.data(), p.columns, p.values);
    failed |= lib.fill_ranks(h.matrix, h.begins.data(), p.columns, p.values);
    failed |= lib.create_vectors(h.matrix, &h.x, &h.b);
    failed |= lib.place(h.x, p.x);
    failed |= lib.place(h.b, p.b);
    failed |= lib.create_solver(*lib.world, &h.solver);
    failed |= lib.set_operators(h.solver, h.matrix, h.matrix);
    failed |= lib.from_options(h.solver);
    failed |= lib.set_up(h.solver);
    failed |= lib.set_up_blocks(h.solver);
    return failed != 0 ? nw_fail(run, "PETSc could not set up its solver") : 0;
}

int prepare_petsc(nw_run* run, const char* method, bool modified) {
    const auto begin = std::chrono::steady_clock::now();
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
    if (lib.initialize(nullptr, nullptr, nullptr, nullptr) != 0) {
        return nw_fail(run, "PetscInitialize failed");
    }
    if (set_up(run, lib, method, modified) != 0) {
        return 1;
    }
    state(run).setup_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return 0;
}

}  // namespace

int prepare_petsc_gmres(nw_run* run) { return prepare_petsc(run, "gmres", false); }
int prepare_petsc_gmres_modified(nw_run* run) { return prepare_petsc(run, "gmres", true); }
int prepare_petsc_gcr(nw_run* run) { return prepare_petsc(run, "gcr", false); }

int petsc_solve(nw_run* run) {
    Petsc lib{};
    if (!load(run, lib)) {
        return nw_fail(run, "the library is no PETSc with real numbers");
    }
    State& s = state(run);
    int reason = 0;
    if (lib.solve(s.petsc->solver, s.petsc->b, s.petsc->x) != 0 || lib.reason(s.petsc->solver, &reason) != 0 ||
        reason <= 0) {
        return nw_fail(run, "PETSc did not converge: reason %d of KSPConvergedReason", reason);
    }
    lib.iterations(s.petsc->solver, &s.iterations);
    return 0;
}

}  // namespace krylov
