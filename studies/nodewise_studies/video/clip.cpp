// SPDX-License-Identifier: BSD-3-Clause
// What the clip shows: a textured ground that pans, discs that cross it, and a camera's noise.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "study.h"

namespace video {
namespace {

constexpr int kDiscs = 7;
// of the ground's texture, in pixels
constexpr int kCoarse = 32, kFine = 4;

// A number in [0, 1) for a point of a grid.
float at_grid(std::uint64_t seed, std::int64_t x, std::int64_t y) {
    const auto index = static_cast<std::uint64_t>(y) * 0x10001U + static_cast<std::uint64_t>(x);
    return static_cast<float>(nw_mix(seed * 0x1000003U + index) >> 40) * 0x1p-24F;
}

// The grid's numbers, interpolated smoothly between its points.
float texture(std::uint64_t seed, float x, float y, int step) {
    const float fx = x / static_cast<float>(step), fy = y / static_cast<float>(step);
    const auto ix = static_cast<std::int64_t>(std::floor(fx)), iy = static_cast<std::int64_t>(std::floor(fy));
    float u = fx - static_cast<float>(ix), v = fy - static_cast<float>(iy);
    u = u * u * (3 - 2 * u);
    v = v * v * (3 - 2 * v);
    const float top = at_grid(seed, ix, iy) * (1 - u) + at_grid(seed, ix + 1, iy) * u;
    const float bottom = at_grid(seed, ix, iy + 1) * (1 - u) + at_grid(seed, ix + 1, iy + 1) * u;
    return top * (1 - v) + bottom * v;
}

struct Disc {
    float x, y, radius, light, blue, red;
};

// Where the discs are in a frame; they leave on one side and come in on the other.
std::array<Disc, kDiscs> discs_of(const Clip& clip, std::uint64_t seed, std::int64_t frame) {
    std::array<Disc, kDiscs> discs{};
    const auto w = static_cast<float>(clip.width), h = static_cast<float>(clip.height);
    for (int i = 0; i < kDiscs; ++i) {
        const auto part = [seed, i](int k) { return at_grid(seed + 77, i, k); };
        const float speed = (part(0) - 0.5F) * 0.03F * w;
        const float x = part(1) * w + speed * static_cast<float>(frame);
        const float y = part(2) * h + 0.2F * h * std::sin(part(3) * 6.F + 0.15F * static_cast<float>(frame));
        discs[static_cast<std::size_t>(i)] = {
            x - w * std::floor(x / w), y, (0.03F + 0.09F * part(4)) * h, 60 + 160 * part(5), 60 + 130 * part(6),
            60 + 130 * part(7)};
    }
    return discs;
}

std::uint8_t rounded(float value) { return static_cast<std::uint8_t>(std::clamp(value, 16.F, 235.F)); }

// The plane `which` of a frame: 0 is light, 1 and 2 are colours.
void draw(const Clip& clip, std::uint64_t seed, std::int64_t frame, int which, std::uint8_t* plane) {
    const std::int64_t scale = which == 0 ? 1 : 2;
    const std::int64_t width = clip.width / scale, height = clip.height / scale;
    const std::array<Disc, kDiscs> discs = discs_of(clip, seed, frame);
    const float pan_x = 1.7F * static_cast<float>(frame), pan_y = 0.6F * static_cast<float>(frame);
    const auto part = static_cast<std::uint64_t>(which);
    for (std::int64_t j = 0; j < height; ++j) {
        for (std::int64_t i = 0; i < width; ++i) {
            const auto x = static_cast<float>(i * scale), y = static_cast<float>(j * scale);
            float value = 40 + 130 * texture(seed + part, x + pan_x, y + pan_y, kCoarse);
            if (which == 0) {
                value += 40 * texture(seed + 9, x + pan_x, y + pan_y, kFine) - 20;
            }
            for (const Disc& d : discs) {
                const float dx = x - d.x, dy = y - d.y;
                if (dx * dx + dy * dy < d.radius * d.radius) {
                    const float own = which == 0 ? d.light : which == 1 ? d.blue : d.red;
                    value = own + (which == 0 ? 25 * texture(seed + 11, dx, dy, 2 * kFine) : 0);
                }
            }
            // between -2 and 2, most often near 0
            const std::uint64_t noise =
                nw_mix(seed ^ (static_cast<std::uint64_t>((frame * 3 + which) * clip.height + j) << 20) ^
                       static_cast<std::uint64_t>(i));
            value += static_cast<float>(noise & 0xffU) / 128 - static_cast<float>((noise >> 8) & 0xffU) / 128;
            plane[j * width + i] = rounded(value);
        }
    }
}

}  // namespace

Clip clip_of(const nw_run* run) {
    Clip clip{};
    clip.height = static_cast<std::int64_t>(nw_number(run, "height", 480));
    clip.width = 2 * std::llround(static_cast<double>(clip.height) * 8 / 9);
    clip.frames = static_cast<std::int64_t>(nw_number(run, "frames", 30));
    return clip;
}

int fill(nw_run* run) {
    const Clip clip = clip_of(run);
    auto* data = static_cast<std::uint8_t*>(nw_data(run, "clip"));
#pragma omp parallel for schedule(dynamic) num_threads(run->threads)
    for (std::int64_t f = 0; f < clip.frames; ++f) {
        std::uint8_t* frame = data + static_cast<std::size_t>(f) * clip.frame();
        draw(clip, run->seed, f, 0, frame);
        draw(clip, run->seed, f, 1, frame + clip.luma());
        draw(clip, run->seed, f, 2, frame + clip.luma() + clip.chroma());
    }
    return 0;
}

int stored(nw_run* run) {
    const Clip clip = clip_of(run);
    std::memcpy(nw_data(run, "decoded"), nw_data(run, "clip"), clip.bytes());
    return 0;
}

}  // namespace video
