// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstddef>

#include "bare.h"
#include "libraries.h"
#include "study.h"

namespace {

using transport::Contender;
using transport::Start;

struct Row {
    Contender contender;
    nw_kind kind = NW_VARIANT;
    const char* library = nullptr;
};

constexpr Row kRows[] = {
    {{"transport", transport::ours_shm}, NW_VARIANT, "transport"},
    {{"transport-tcp", transport::ours_tcp}, NW_VARIANT, "transport+tcp"},
    {{"transport-ipc", transport::ours_ipc}, NW_VARIANT, "transport+ipc"},
    {{"transport-ofi-tcp", transport::ours_ofi_tcp}, NW_VARIANT, "transport+ofi+tcp"},
    {{"transport-ofi-shm", transport::ours_ofi_shm}, NW_VARIANT, "transport+ofi+shm"},
    {{"ring", transport::ring}},
    {{"mapped", transport::mapped}},
    {{"futex", transport::bare_futex}},
    {{"pipe", transport::through_pipe}},
    {{"unix", transport::through_unix}},
    {{"tcp", transport::through_tcp}},
    {{"zeromq-ipc", transport::zeromq_ipc}, NW_PEER, "zeromq"},
    {{"zeromq-tcp", transport::zeromq_tcp}, NW_PEER, "zeromq"},
    {{"nng-ipc", transport::nng_ipc}, NW_PEER, "nng"},
    {{"nng-tcp", transport::nng_tcp}, NW_PEER, "nng"},
    {{"nanomsg-ipc", transport::nanomsg_ipc}, NW_PEER, "nanomsg"},
    {{"nanomsg-tcp", transport::nanomsg_tcp}, NW_PEER, "nanomsg"},
    {{"ucx-tag", transport::ucx_tag}, NW_PEER, transport::kUcx},
    {{"ucx-am", transport::ucx_am}, NW_PEER, transport::kUcx},
    {{"ucx-put", transport::ucx_put}, NW_PEER, transport::kUcx},
    {{"ofi-shm", transport::ofi_shm}, NW_PEER, transport::kLibfabric},
    {{"ofi-tcp", transport::ofi_tcp}, NW_PEER, transport::kLibfabric},
    {{"ofi-shm-write", transport::ofi_shm_write}, NW_PEER, transport::kLibfabric},
    {{"ofi-tcp-write", transport::ofi_tcp_write}, NW_PEER, transport::kLibfabric},
    {{"openmpi", transport::mpi, Start::kByMpi}, NW_PEER, "openmpi"},
    {{"mpich", transport::mpi, Start::kByMpi}, NW_PEER, "mpich"},
    {{"intelmpi", transport::mpi, Start::kByMpi}, NW_PEER, "intelmpi"},
    {{"openmpi-put", transport::mpi_put, Start::kByMpi}, NW_PEER, "openmpi"},
    {{"mpich-put", transport::mpi_put, Start::kByMpi}, NW_PEER, "mpich"},
    {{"intelmpi-put", transport::mpi_put, Start::kByMpi}, NW_PEER, "intelmpi"},
    {{"memcpy", transport::memory_copy}, NW_LIMIT},
    {{"untransferred", transport::untransferred}, NW_LIMIT},
    {{"line", transport::line}, NW_LIMIT},
};
constexpr std::size_t kCount = sizeof kRows / sizeof *kRows;

template <std::size_t Row>
int run(nw_run* run) {
    return transport::run_pair(run, kRows[Row].contender);
}

template <std::size_t... Rows>
constexpr std::array<nw_variant, kCount> variants(std::index_sequence<Rows...>) {
    return {{{.name = kRows[Rows].contender.name,
              .kind = kRows[Rows].kind,
              .run = run<Rows>,
              .library = kRows[Rows].library}...}};
}

constexpr std::array<nw_variant, kCount> kVariants = variants(std::make_index_sequence<kCount>{});

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "transport",
    .layout = transport::layout,
    .fill = transport::fill,
    .reset = transport::reset,
    .check = transport::check,
    .work = transport::work,
    .variants = kVariants.data(),
    .variant_count = kCount,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }

const Contender* transport::find_contender(std::string_view name) {
    for (const Row& row : kRows) {
        if (name == row.contender.name) {
            return &row.contender;
        }
    }
    return nullptr;
}
