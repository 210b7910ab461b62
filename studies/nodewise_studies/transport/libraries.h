// SPDX-License-Identifier: BSD-3-Clause
// Contenders that are by the kernel, and by libraries; which of them can lend, put or sleep is in study.py.
#pragma once

#include "side.h"

namespace transport {

void ours_shm(Side& side);
void ours_tcp(Side& side);
void ours_ipc(Side& side);
void ours_ofi_tcp(Side& side);
void ours_ofi_shm(Side& side);

void through_pipe(Side& side);
void through_unix(Side& side);
void through_tcp(Side& side);

void zeromq_tcp(Side& side);
void zeromq_ipc(Side& side);
void nng_tcp(Side& side);
void nng_ipc(Side& side);
void nanomsg_tcp(Side& side);
void nanomsg_ipc(Side& side);

void ucx_tag(Side& side);
void ucx_am(Side& side);
void ucx_put(Side& side);

void ofi_shm(Side& side);
void ofi_tcp(Side& side);
void ofi_shm_write(Side& side);
void ofi_tcp_write(Side& side);

void mpi(Side& side);      // messages
void mpi_put(Side& side);  // one-sided

// The names of the libraries in study.py; other ones where the study was compiled without their headers, and what is by
// them can only fail.
#if __has_include(<ucp/api/ucp.h>)
#define NODEWISE_UCX
inline constexpr const char* kUcx = "ucx";
#else
inline constexpr const char* kUcx = "ucx-headers";
#endif
#if __has_include(<rdma/fabric.h>)
#define NODEWISE_LIBFABRIC
inline constexpr const char* kLibfabric = "libfabric";
#else
inline constexpr const char* kLibfabric = "libfabric-headers";
#endif

// A TCP port of this machine that no one listens at.
int free_port();

}  // namespace transport
