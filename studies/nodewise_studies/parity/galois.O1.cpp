// SPDX-License-Identifier: BSD-3-Clause
// As portable erasure codes in C were written: byte by byte, a product from tables of logarithms. Not made into vectors
// by the compiler, hence the level in this file's name.
#include "study.h"

namespace parity {
namespace {

struct Logarithms {
    std::array<std::uint8_t, 256> of{};
    std::array<std::uint8_t, 512> power{};

    Logarithms() {
        std::uint8_t x = 1;
        for (std::size_t i = 0; i < 255; ++i) {
            of[x] = static_cast<std::uint8_t>(i);
            power[i] = x;
            power[i + 255] = x;
            x = multiply(x, 2);
        }
    }
};

void combine(const Part& part) {
    static const Logarithms kLogarithms;
    for (std::size_t o = 0; o < part.output_count; ++o) {
        std::uint8_t* into = part.outputs[o];
        for (std::size_t s = 0; s < part.source_count; ++s) {
            const std::uint8_t* from = part.sources[s];
            const std::uint8_t c = part.coefficients[o * part.source_count + s];
            const std::uint8_t* power = &kLogarithms.power[kLogarithms.of[c]];
            for (std::size_t at = part.begin; at < part.end; ++at) {
                std::uint8_t product = from[at];
                if (c != 1) {
                    product = product != 0 && c != 0 ? power[kLogarithms.of[product]] : 0;
                }
                into[at] = s == 0 ? product : into[at] ^ product;
            }
        }
    }
}

}  // namespace

int galois(nw_run* run) { return run_steps(run, combine, nullptr); }

}  // namespace parity
