// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

constexpr nw_variant kVariants[] = {
    {.name = "transport", .run = transport::ours, .library = "transport"},
    {.name = "ring", .run = transport::ring},
    {.name = "pipe", .run = transport::through_pipe},
    {.name = "unix", .run = transport::through_unix},
    {.name = "tcp", .run = transport::through_tcp},
    {.name = "zeromq-ipc", .kind = NW_PEER, .run = transport::zeromq_ipc, .library = "zeromq"},
    {.name = "zeromq-tcp", .kind = NW_PEER, .run = transport::zeromq_tcp, .library = "zeromq"},
    {.name = "untransferred", .kind = NW_LIMIT, .run = transport::untransferred},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "transport",
    .layout = transport::layout,
    .fill = transport::fill,
    .reset = transport::reset,
    .check = transport::check,
    .work = transport::work,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
