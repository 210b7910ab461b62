// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>

#include "abi/kernel.h"
#include "matrix.h"

namespace krylov {
namespace {

// A point's neighbour in one direction, if it has one: entries are added in the order of their columns.
struct Neighbour {
    bool there;
    std::int64_t offset;
    double value;
};

}  // namespace

Rows convection(std::int64_t side, double flow, int rank, int ranks) {
    Rows made;
    made.whole = side * side * side;
    const auto whole = static_cast<std::uint64_t>(made.whole);
    made.first = static_cast<std::int64_t>(nw_begin(whole, rank, ranks));
    const auto end = static_cast<std::int64_t>(nw_begin(whole, rank + 1, ranks));
    const double x_flow = flow;
    const double y_flow = flow / 2;
    const double z_flow = flow / 4;
    const double middle = 6 + x_flow + y_flow + z_flow;
    made.counts.reserve(static_cast<std::size_t>(end - made.first));
    made.columns.reserve(static_cast<std::size_t>(7 * (end - made.first)));
    made.values.reserve(made.columns.capacity());
    for (std::int64_t row = made.first; row < end; ++row) {
        const std::int64_t x = row % side;
        const std::int64_t y = row / side % side;
        const std::int64_t z = row / side / side;
        const Neighbour neighbours[] = {{z > 0, -side * side, -1 - z_flow},
                                        {y > 0, -side, -1 - y_flow},
                                        {x > 0, -1, -1 - x_flow},
                                        {true, 0, middle},
                                        {x + 1 < side, 1, -1},
                                        {y + 1 < side, side, -1},
                                        {z + 1 < side, side * side, -1}};
        std::int32_t count = 0;
        for (const Neighbour& neighbour : neighbours) {
            if (neighbour.there) {
                made.columns.push_back(static_cast<std::int32_t>(row + neighbour.offset));
                made.values.push_back(neighbour.value);
                ++count;
            }
        }
        made.counts.push_back(count);
    }
    return made;
}

}  // namespace krylov
