// SPDX-License-Identifier: BSD-3-Clause
#include "study.h"

namespace {

using fileio::Variant;

template <const Variant& chosen>
int prepare(nw_run* run) {
    return fileio::prepare_variant(run, chosen);
}

template <const Variant& chosen>
int run(nw_run* given) {
    return fileio::run_variant(given, chosen);
}

template <const Variant& chosen>
constexpr nw_variant variant(const char* name) {
    return {.name = name, .run = run<chosen>, .prepare = prepare<chosen>};
}

constexpr nw_variant kVariants[] = {
    variant<fileio::kCTextElement>("c-formatted-element"),
    variant<fileio::kCTextRow>("c-formatted-row"),
    variant<fileio::kCTextWhole>("c-formatted-whole"),
    variant<fileio::kCharconvWhole>("charconv-formatted-whole"),
    variant<fileio::kCBytesElement>("c-unformatted-element"),
    variant<fileio::kCBytesRow>("c-unformatted-row"),
    variant<fileio::kCBytesWhole>("c-unformatted-whole"),
#ifdef NODEWISE_FORTRAN
    variant<fileio::kFortranTextElement>("fortran-formatted-element"),
    variant<fileio::kFortranTextRow>("fortran-formatted-row"),
    variant<fileio::kFortranTextWhole>("fortran-formatted-whole"),
    variant<fileio::kFortranRecordElement>("fortran-unformatted-element"),
    variant<fileio::kFortranRecordRow>("fortran-unformatted-row"),
    variant<fileio::kFortranRecordWhole>("fortran-unformatted-whole"),
    variant<fileio::kFortranStreamElement>("fortran-stream-element"),
    variant<fileio::kFortranStreamRow>("fortran-stream-row"),
    variant<fileio::kFortranStreamWhole>("fortran-stream-whole"),
#endif
    variant<fileio::kWriteElement>("write-element"),
    variant<fileio::kWriteRow>("write-row"),
    variant<fileio::kWriteWhole>("write-whole"),
    variant<fileio::kDirectWhole>("direct-whole"),
    variant<fileio::kMmapWhole>("mmap-whole"),
    variant<fileio::kMmapAheadWhole>("mmap-ahead-whole"),
#ifdef NODEWISE_LIBURING
    variant<fileio::kUringWhole>("uring-whole"),
    variant<fileio::kUringDirectWhole>("uring-direct-whole"),
#endif
    variant<fileio::kChunkedRow>("chunked-row"),
    variant<fileio::kChunkedChunk>("chunked-chunk"),
    variant<fileio::kChunkedWhole>("chunked-whole"),
    {.name = "memory", .kind = NW_LIMIT, .run = fileio::copy_in_memory},
};

constexpr nw_study kStudy{
    .abi = NW_ABI,
    .name = "fileio",
    .layout = fileio::layout,
    .fill = fileio::fill,
    .reset = fileio::reset,
    .check = fileio::check,
    .work = fileio::work,
    .release = fileio::release,
    .variants = kVariants,
    .variant_count = sizeof kVariants / sizeof *kVariants,
};

}  // namespace

const nw_study* nodewise_study(void) { return &kStudy; }
