// SPDX-License-Identifier: BSD-3-Clause
// Numbers that begin at a cache line, as the widest vectors have them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace pca {

constexpr std::size_t kAligned = 64;

struct Release {
    void operator()(double* data) const { ::operator delete[](data, std::align_val_t{kAligned}); }
};
using Numbers = std::unique_ptr<double[], Release>;

inline Numbers zeros(std::size_t count) {
    Numbers made(static_cast<double*>(::operator new[](count * sizeof(double), std::align_val_t{kAligned})));
    std::fill_n(made.get(), count, 0.0);
    return made;
}

}  // namespace pca
