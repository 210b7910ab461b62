// SPDX-License-Identifier: BSD-3-Clause
// Laying out, and whether what was decoded still shows the clip.
#include <algorithm>
#include <cmath>

#include "study.h"

namespace video {
namespace {

// Below this any viewer sees that something is wrong. Dropped, repeated or swapped frames, a shifted picture and
// exchanged planes are all far below, what encoders do at ordinary settings is above 30.
constexpr double kWorst = 25;
constexpr double kWhite = 255;

// Peak signal-to-noise ratio of a part, in dB; infinite where they are equal.
double psnr(const std::uint8_t* one, const std::uint8_t* other, std::size_t count) {
    std::uint64_t squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const int difference = one[i] - other[i];
        squares += static_cast<std::uint64_t>(difference * difference);
    }
    return 10 * std::log10(kWhite * kWhite * static_cast<double>(count) / static_cast<double>(squares));
}

}  // namespace

int layout(nw_run* run) {
    const Clip clip = clip_of(run);
    if (clip.height % 2 != 0) {
        return nw_fail(run, "height %lld is odd: colours have half of it", static_cast<long long>(clip.height));
    }
    nw_declare(run, "clip", NW_U8, NW_INPUT, clip.bytes());
    nw_declare(run, "decoded", NW_U8, NW_OUTPUT, clip.bytes());
    return 0;
}

int check(nw_run* run) {
    const Clip clip = clip_of(run);
    const auto* want = static_cast<const std::uint8_t*>(nw_data(run, "clip"));
    const auto* got = static_cast<const std::uint8_t*>(nw_data(run, "decoded"));
    const std::size_t starts[] = {0, clip.luma(), clip.luma() + clip.chroma()};
    const std::size_t counts[] = {clip.luma(), clip.chroma(), clip.chroma()};
    double worst = INFINITY;
    std::int64_t where = 0;
    for (std::int64_t f = 0; f < clip.frames; ++f) {
        for (std::size_t plane = 0; plane < 3; ++plane) {
            const std::size_t at = static_cast<std::size_t>(f) * clip.frame() + starts[plane];
            const double here = psnr(want + at, got + at, counts[plane]);
            if (here < worst) {
                worst = here;
                where = f;
            }
        }
    }
    if (worst < kWorst) {
        return nw_fail(run, "frame %lld is %.1f dB from the clip's, less than %.0f", static_cast<long long>(where),
                       worst, kWorst);
    }
    return 0;
}

// Each byte of the clip has to be read; what else an encoder does is its own choice.
void work(const nw_run* run, nw_work* out) {
    const Clip clip = clip_of(run);
    *out = {static_cast<double>(clip.frames), 0, static_cast<double>(clip.bytes()), 0};
}

}  // namespace video
