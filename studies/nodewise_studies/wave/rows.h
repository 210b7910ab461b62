// SPDX-License-Identifier: BSD-3-Clause
// The update of neighbouring rows of a plane in vectors, which three variants share: their results are equal bit by
// bit.
#pragma once

#include <cstdint>

#include "problem.h"

namespace wave {

struct Rows {
    const float* now;  // at the first point of the first row, as the next two
    float* before;
    const float* c;
    const float* keep_x;
    const float* keep_y;  // one for each row
    float keep_z;
    std::int64_t rows;
    std::int64_t nx;
    std::int64_t row, plane;
    const float* weight;
};

using UpdateRows = void (*)(const Rows&);

// That of the best instructions here.
UpdateRows update_rows(int radius);

// What all of a step's rows need is done for the rows y … end of plane z: the update, the source, the receivers.
inline void advance(const Problem& p, const State& s, UpdateRows update, int step, std::int64_t z, std::int64_t y,
                    std::int64_t end) {
    const std::int64_t at = p.at(z, y);
    update({p.now(step) + at, p.before(step) + at, p.c + at, s.keep_x.data(), s.keep_y.data() + y,
            s.keep_z[static_cast<std::size_t>(z)], end - y, p.nx, p.row, p.plane, s.weight});
    if (z == p.source_z && y <= p.source_y && p.source_y < end) {
        after_row(p, s, step, z, p.source_y);
    }
    if (z == p.receiver_z && y <= p.receiver_y && p.receiver_y < end &&
        !(z == p.source_z && p.source_y == p.receiver_y)) {
        after_row(p, s, step, z, p.receiver_y);
    }
}

// Reads and writes as an update does that has every neighbour at hand: what no variant that makes one step at a time
// can do without.
using StreamPart = void (*)(const float* now, float* before, const float* c, std::int64_t count);
StreamPart stream_part();

}  // namespace wave
