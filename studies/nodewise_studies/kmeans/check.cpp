// SPDX-License-Identifier: BSD-3-Clause
// The check. What has to come out is computed once, by a tree of the centres. Whoever gets just that is right. Others,
// whose distances are rounded in their own way, decide near ties otherwise: they are right if each label's centre is
// the nearest up to that rounding, the centres are the means, and the way there led to as good an end.
#include "plain_arithmetic.h"
//
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "study.h"

namespace kmeans {
namespace {

constexpr int kLeaf = 8;
// Of the largest squared distance from 0: what |p|² - 2 p · c + |c|² in float may be off, with room for long sums.
constexpr double kRounding = 0x1p-19;
// How far near ties may lead a peer: the centres' coordinates, in the mean square, as a share of the largest (one small
// cluster may go its own way), and the sum of squared distances.
constexpr double kDrift = 0.01;
constexpr double kWorse = 1e-3;
// Of the largest coordinate: a mean in float.
constexpr double kMean = 0x1p-22;
// The same where the points were added up in float.
constexpr double kSum = 0x1p-14;

struct Nearest {
    float distance = std::numeric_limits<float>::infinity();
    std::int32_t label = 0;
};

// The centres, halved by the widest dimension, down to a few. A half is passed over where already that dimension's
// rounded square is more than the least distance: adding the others' cannot make it less.
class Tree {
  public:
    Tree(const float* centres, int count, int dims) : centres_(centres), dims_(dims) {
        order_.resize(static_cast<std::size_t>(count));
        for (int c = 0; c < count; ++c) {
            order_[static_cast<std::size_t>(c)] = c;
        }
        build(0, count);
    }

    [[nodiscard]] Nearest find(const float* point, std::int32_t start) const {
        Nearest nearest{distance(point, start), start};
        if (std::isinf(nearest.distance)) {
            nearest.label = 0;
        }
        search(0, point, nearest);
        return nearest;
    }

  private:
    struct Node {
        int begin;
        int end;
        int dim;     // -1 in a leaf
        float low;   // the largest coordinate of the first half
        float high;  // the least of the second
        std::size_t second;
    };

    [[nodiscard]] float coordinate(int centre, int dim) const { return centres_[std::int64_t{centre} * dims_ + dim]; }

    [[nodiscard]] float distance(const float* point, int centre) const {
        float sum = 0;
        for (int a = 0; a < dims_; ++a) {
            const float x = point[a] - coordinate(centre, a);
            sum += x * x;
        }
        return sum;
    }

    int widest(int begin, int end) const {
        int best = 0;
        float width = -1;
        for (int a = 0; a < dims_; ++a) {
            float low = std::numeric_limits<float>::max();
            float high = std::numeric_limits<float>::lowest();
            for (int i = begin; i < end; ++i) {
                low = std::min(low, coordinate(order_[static_cast<std::size_t>(i)], a));
                high = std::max(high, coordinate(order_[static_cast<std::size_t>(i)], a));
            }
            if (high - low > width) {
                width = high - low;
                best = a;
            }
        }
        return best;
    }

    void build(int begin, int end) {
        const std::size_t at = nodes_.size();
        nodes_.push_back({begin, end, -1, 0, 0, 0});
        if (end - begin <= kLeaf) {
            return;
        }
        const int dim = widest(begin, end);
        const int middle = begin + (end - begin) / 2;
        std::sort(order_.begin() + begin, order_.begin() + end,
                  [&](int a, int b) { return coordinate(a, dim) < coordinate(b, dim); });
        nodes_[at].dim = dim;
        nodes_[at].low = coordinate(order_[static_cast<std::size_t>(middle - 1)], dim);
        nodes_[at].high = coordinate(order_[static_cast<std::size_t>(middle)], dim);
        build(begin, middle);
        nodes_[at].second = nodes_.size();
        build(middle, end);
    }

    void search(std::size_t at, const float* point, Nearest& nearest) const {
        const Node& node = nodes_[at];
        if (node.dim < 0) {
            for (int i = node.begin; i < node.end; ++i) {
                const int centre = order_[static_cast<std::size_t>(i)];
                const float d = distance(point, centre);
                if (d < nearest.distance || (d == nearest.distance && centre < nearest.label)) {
                    nearest = {d, centre};
                }
            }
            return;
        }
        const float x = point[node.dim];
        const float to_first = std::max(0.0F, x - node.low);
        const float to_second = std::max(0.0F, node.high - x);
        const bool first_nearer = to_first <= to_second;
        search(first_nearer ? at + 1 : node.second, point, nearest);
        const float other = first_nearer ? to_second : to_first;
        if (other * other <= nearest.distance) {
            search(first_nearer ? node.second : at + 1, point, nearest);
        }
    }

    const float* centres_;
    int dims_;
    std::vector<int> order_;
    std::vector<Node> nodes_;
};

// The exact means of the labelled points; a centre without points is kept.
void means(const State& own, const float* points, const std::int32_t* labels, std::vector<float>& centres) {
    float largest = 0;
    for (std::int64_t i = 0; i < own.points * own.dims; ++i) {
        largest = std::max(largest, std::fabs(points[i]));
    }
    const Grid grid = grid_for(own.points, largest);
    const std::size_t dims = static_cast<std::size_t>(own.dims);
    std::vector<double> sums(static_cast<std::size_t>(own.clusters) * dims);
    std::vector<double> counts(static_cast<std::size_t>(own.clusters));
    for (std::int64_t i = 0; i < own.points; ++i) {
        const auto label = static_cast<std::size_t>(labels[i]);
        counts[label] += 1;
        for (std::size_t a = 0; a < dims; ++a) {
            sums[label * dims + a] += points[static_cast<std::size_t>(i) * dims + a] + grid.shift - grid.shift;
        }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (counts[i / dims] > 0) {
            centres[i] = static_cast<float>(sums[i] / counts[i / dims]);
        }
    }
}

// The squared distance without rounding to speak of.
double square(const float* point, const float* centre, int dims) {
    double sum = 0;
    for (int a = 0; a < dims; ++a) {
        const double x = static_cast<double>(point[a]) - centre[a];
        sum += x * x;
    }
    return sum;
}

double inertia(const State& own, const float* points, const std::int32_t* labels, const float* centres) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (std::int64_t i = 0; i < own.points; ++i) {
        sum += square(points + i * own.dims, centres + std::int64_t{labels[i]} * own.dims, own.dims);
    }
    return sum;
}

void expect(const nw_run* run) {
    State& own = state(run);
    const auto* points = array<const float>(run, "points");
    const auto* initial = array<const float>(run, "initial");
    auto all = std::make_unique<Expected>();
    all->labels.assign(static_cast<std::size_t>(own.points), 0);
    all->centres.assign(initial, initial + std::int64_t{own.clusters} * own.dims);
    for (int iteration = 0; iteration < own.iterations; ++iteration) {
        all->used = all->centres;
        const Tree tree(all->used.data(), own.clusters, own.dims);
#pragma omp parallel for schedule(dynamic, 4096) num_threads(run->threads)
        for (std::int64_t i = 0; i < own.points; ++i) {
            std::int32_t& label = all->labels[static_cast<std::size_t>(i)];
            label = tree.find(points + i * own.dims, label).label;
        }
        means(own, points, all->labels.data(), all->centres);
    }
    all->inertia = inertia(own, points, all->labels.data(), all->used.data());
    own.expected = std::move(all);
}

int check_labels(nw_run* run, const float* used, const std::int32_t* labels) {
    const State& own = state(run);
    const auto* points = array<const float>(run, "points");
    double largest = 0;
    for (std::int64_t i = 0; i < own.points * own.dims; ++i) {
        largest = std::max(largest, static_cast<double>(std::fabs(points[i])));
    }
    const double slack = kRounding * own.dims * largest * largest;
    const Tree tree(used, own.clusters, own.dims);
    std::int64_t wrong = own.points;
#pragma omp parallel for schedule(dynamic, 4096) num_threads(run->threads) reduction(min : wrong)
    for (std::int64_t i = 0; i < own.points; ++i) {
        const float* point = points + i * own.dims;
        const int nearest = tree.find(point, labels[i]).label;
        if (square(point, used + std::int64_t{labels[i]} * own.dims, own.dims) >
            square(point, used + std::int64_t{nearest} * own.dims, own.dims) + slack) {
            wrong = std::min(wrong, i);
        }
    }
    return wrong == own.points ? 0
                               : nw_fail(run, "point %lld is nearer to another centre than to %d",
                                         static_cast<long long>(wrong), labels[wrong]);
}

template <typename T>
bool same(const std::vector<T>& want, const T* got) {
    return std::memcmp(want.data(), got, want.size() * sizeof(T)) == 0;
}

// The centres against the means of the labelled points.
int check_centres(nw_run* run, const std::vector<float>& want) {
    const auto* got = array<const float>(run, "centres");
    double largest = 0;
    for (const float x : want) {
        largest = std::max(largest, static_cast<double>(std::fabs(x)));
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (!(std::fabs(static_cast<double>(got[i]) - want[i]) <= kMean * largest)) {
            return nw_fail(run, "coordinate %zu of the centres is %g, not %g", i, static_cast<double>(got[i]),
                           static_cast<double>(want[i]));
        }
    }
    return 0;
}

// The centres that the last assignment used: where all labels are as expected, up to rounding, else up to where near
// ties may have led.
int check_used(nw_run* run) {
    const State& own = state(run);
    const auto* got = array<const float>(run, "used");
    const std::vector<float>& want = own.expected->used;
    double largest = 0;
    double most = 0;
    double sum = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double off = std::fabs(static_cast<double>(got[i]) - want[i]);
        largest = std::max(largest, static_cast<double>(std::fabs(want[i])));
        most = off <= most ? most : off;
        sum += off * off;
    }
    const bool led = own.iterations > 1 && !same(own.expected->labels, array<std::int32_t>(run, "labels"));
    const double drift = led ? std::sqrt(sum / static_cast<double>(want.size())) : most;
    if (!(drift <= (led ? kDrift : kSum) * largest)) {
        return nw_fail(run, "the centres that were used are off by %g", drift);
    }
    return 0;
}

// For outputs that are not to the bit what was expected.
int check_nearly(nw_run* run) {
    const State& own = state(run);
    const auto* points = array<const float>(run, "points");
    const auto* labels = array<const std::int32_t>(run, "labels");
    const auto* used = array<const float>(run, "used");
    for (std::int64_t i = 0; i < own.points; ++i) {
        if (labels[i] < 0 || labels[i] >= own.clusters) {
            return nw_fail(run, "point %lld has label %d of %d", static_cast<long long>(i), labels[i], own.clusters);
        }
    }
    std::vector<float> right(used, used + std::int64_t{own.clusters} * own.dims);
    means(own, points, labels, right);
    if (check_used(run) != 0 || check_centres(run, right) != 0 || check_labels(run, used, labels) != 0) {
        return 1;
    }
    const double sum = inertia(own, points, labels, used);
    if (!(sum <= own.expected->inertia * (1 + kWorse))) {
        return nw_fail(run, "the squared distances add up to %g, %g is due", sum, own.expected->inertia);
    }
    return 0;
}

}  // namespace

int check(nw_run* run) {
    const State& own = state(run);
    if (own.expected == nullptr) {
        expect(run);
    }
    const bool exact = same(own.expected->labels, array<std::int32_t>(run, "labels")) &&
                       same(own.expected->used, array<float>(run, "used")) &&
                       same(own.expected->centres, array<float>(run, "centres"));
    return exact ? 0 : check_nearly(run);
}

}  // namespace kmeans
