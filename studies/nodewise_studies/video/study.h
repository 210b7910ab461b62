// SPDX-License-Identifier: BSD-3-Clause
// A generated clip: planes Y, U, V of each frame, the colours at half the size (yuv420p, 8 bits).
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/kernel.h"

namespace video {

struct Clip {
    std::int64_t width, height, frames;

    [[nodiscard]] std::size_t luma() const { return static_cast<std::size_t>(width * height); }
    [[nodiscard]] std::size_t chroma() const { return static_cast<std::size_t>((width / 2) * (height / 2)); }
    [[nodiscard]] std::size_t frame() const { return luma() + 2 * chroma(); }
    [[nodiscard]] std::size_t bytes() const { return frame() * static_cast<std::size_t>(frames); }
};

// Of 16:9, as the knobs say.
Clip clip_of(const nw_run* run);

int layout(nw_run* run);
int fill(nw_run* run);
int check(nw_run* run);
void work(const nw_run* run, nw_work* out);

// The clip as it is.
int stored(nw_run* run);

}  // namespace video
