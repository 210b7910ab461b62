// SPDX-License-Identifier: BSD-3-Clause
// The first components alone, by randomized projection and power iterations (Halko, Martinsson, Tropp, SIAM Review 53,
// 2011): the matrix of the columns is never formed. A pass over the rows multiplies a few more vectors than there are
// components wanted by it, from random ones on; what they span turns towards the first axes, and in that span the
// components are found exactly (Rayleigh and Ritz). The same pass shows how far each is from being one, so that there
// are as many passes as the wanted accuracy takes, and no more.
#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

#include "numbers.h"
#include "pca.h"
#include "simd.h"
#include "solve.h"
#include "source.h"

namespace pca {
namespace {

// Vectors beyond those that are wanted: as many again, these at least. The more, the fewer passes.
constexpr std::size_t kFewestMore = 10;
constexpr int kMostPasses = 1000;
// what is left of a vector's length after others are taken out of it, below which it was made of them
constexpr double kDependent = 1e-10;

// The columns' means and sums of squared deviations, and in how many rows a value is stored.
struct Spread {
    double count = 0;
    std::vector<double> mean;
    std::vector<double> squares;
    std::vector<std::size_t> stored;
};

void add_row(const Block& block, std::size_t i, const double* shift, Spread& to) {
    if (block.dense != nullptr) {
        const double* row = block.dense + i * block.columns;
        for (std::size_t j = 0; j < block.columns; ++j) {
            const double moved = row[j] - shift[j];
            to.mean[j] += moved;
            to.squares[j] += moved * moved;
        }
        return;
    }
    for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
        const auto j = static_cast<std::size_t>(block.column[k]);
        const double moved = block.value[k] - shift[j];
        to.mean[j] += moved;
        to.squares[j] += moved * moved;
        ++to.stored[j];
    }
}

Spread no_spread(std::size_t d) {
    return {0, std::vector<double>(d, 0.0), std::vector<double>(d, 0.0), std::vector<std::size_t>(d, 0)};
}

// Where sums of a block are taken from: near its middle; of sparse rows from the first one's values, and from 0 where a
// value is not stored, which is put right afterwards.
std::vector<double> start_of(const Block& block) {
    if (block.dense != nullptr) {
        return near_middle(block);
    }
    std::vector<double> shift(block.columns, 0.0);
    for (std::int64_t k = block.starts[0]; k < block.ends[0]; ++k) {
        shift[static_cast<std::size_t>(block.column[k])] = block.value[k];
    }
    return shift;
}

Spread spread_of(const nw_run* run, const Block& block) {
    const std::size_t d = block.columns;
    const std::vector<double> shift = start_of(block);
    std::vector<Spread> parts(static_cast<std::size_t>(run->threads), no_spread(d));
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
    for (std::size_t t = 0; t < parts.size(); ++t) {
        for (std::size_t i = block.count * t / parts.size(); i < block.count * (t + 1) / parts.size(); ++i) {
            add_row(block, i, shift.data(), parts[t]);
        }
    }
    Spread all = no_spread(d);
    all.count = static_cast<double>(block.count);
    for (std::size_t j = 0; j < d; ++j) {
        for (const Spread& part : parts) {
            all.mean[j] += part.mean[j];
            all.squares[j] += part.squares[j];
            all.stored[j] += part.stored[j];
        }
        // rows in which the column is 0
        const double zeros = block.dense != nullptr ? 0.0 : all.count - static_cast<double>(all.stored[j]);
        all.mean[j] -= zeros * shift[j];
        all.squares[j] += zeros * shift[j] * shift[j];
        all.squares[j] = std::max(0.0, all.squares[j] - all.mean[j] * (all.mean[j] / all.count));
        all.mean[j] = shift[j] + all.mean[j] / all.count;
    }
    return all;
}

Spread all_spread(nw_run* run) {
    State& own = state(run);
    Spread all = no_spread(own.columns);
    Block block;
    for (own.source->rewind(); own.source->next(block);) {
        const Spread more = spread_of(run, block);
        const double weight = all.count * more.count / (all.count + more.count);
        for (std::size_t j = 0; j < own.columns; ++j) {
            const double delta = all.count > 0 ? more.mean[j] - all.mean[j] : 0.0;
            all.mean[j] = all.count > 0 ? all.mean[j] + delta * (more.count / (all.count + more.count)) : more.mean[j];
            all.squares[j] += more.squares[j] + weight * delta * delta;
            all.stored[j] += more.stored[j];
        }
        all.count += more.count;
    }
    return all;
}

double dot(const double* a, const double* b, std::size_t size) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < size; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

// Takes the vectors before it out of one, twice, since once leaves some; returns what share of its length is left.
double take_out(const double* before, std::size_t count, std::size_t size, double* vector) {
    const double length = std::sqrt(dot(vector, vector, size));
    for (int again = 0; again < 2; ++again) {
        for (std::size_t k = 0; k < count; ++k) {
            const double* other = before + k * size;
            const double share = dot(other, vector, size);
            for (std::size_t j = 0; j < size; ++j) {
                vector[j] -= share * other[j];
            }
        }
    }
    const double left = std::sqrt(dot(vector, vector, size));
    return length > 0 ? left / length : 0.0;
}

// Makes vectors (rows) orthonormal; one that the others make up is drawn anew.
void orthonormalise(const nw_run* run, std::size_t count, std::size_t size, std::vector<double>& vectors) {
    std::uint64_t drawn = 0;
    for (std::size_t k = 0; k < count; ++k) {
        double* vector = vectors.data() + k * size;
        while (take_out(vectors.data(), k, size, vector) < kDependent) {
            for (std::size_t j = 0; j < size; ++j) {
                vector[j] = nw_uniform(nw_random(run->seed + 77 + k, drawn++)) - 0.5;
            }
        }
        const double length = std::sqrt(dot(vector, vector, size));
        for (std::size_t j = 0; j < size; ++j) {
            vector[j] /= length;
        }
    }
}

// The rows as they are seen: less `from`, times `scale`; what is left of their means, and with it a vector's.
struct View {
    std::vector<double> from;
    std::vector<double> centre;  // of what is left, scaled
    std::vector<double> scale;
};

// Sparse rows are not filled: from 0 on where a column has zeros, whose means come in afterwards.
View view_of(const State& own, const Frame& frame, const Spread& all) {
    View view{frame.mean, std::vector<double>(own.columns, 0.0), frame.scale};
    for (std::size_t j = 0; own.sparse && j < own.columns; ++j) {
        if (all.stored[j] < own.rows) {
            view.from[j] = 0.0;
            view.centre[j] = frame.mean[j] * frame.scale[j];
        }
    }
    return view;
}

struct Product {
    std::size_t width;
    const double* basis;  // columns × width
    Numbers image;        // stride × width
    std::vector<double> along;
};

void dense_product(const Block& block, const View& view, std::size_t begin, std::size_t end, Product& to) {
    const std::size_t stride = simd_stride(block.columns);
    const Numbers scratch = zeros(sketch_scratch(stride, to.width));
    simd_sketch({{block.dense + begin * block.columns, end - begin, block.columns, stride, view.from.data(),
                  to.along.data(), nullptr, view.scale.data(), view.centre.data(), nullptr, scratch.get()},
                 to.width,
                 to.basis,
                 to.image.get()});
}

void sparse_product(const Block& block, const View& view, const std::vector<double>& centre, std::size_t begin,
                    std::size_t end, Product& to) {
    std::vector<double> share(to.width);
    for (std::size_t i = begin; i < end; ++i) {
        std::transform(centre.begin(), centre.end(), share.begin(), [](double c) { return -c; });
        for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
            const auto j = static_cast<std::size_t>(block.column[k]);
            const double x = (block.value[k] - view.from[j]) * view.scale[j];
            const double* basis = to.basis + j * to.width;
            for (std::size_t c = 0; c < to.width; ++c) {
                share[c] += x * basis[c];
            }
        }
        for (std::int64_t k = block.starts[i]; k < block.ends[i]; ++k) {
            const auto j = static_cast<std::size_t>(block.column[k]);
            const double x = (block.value[k] - view.from[j]) * view.scale[j];
            double* image = to.image.get() + j * to.width;
            for (std::size_t c = 0; c < to.width; ++c) {
                image[c] += x * share[c];
            }
        }
        for (std::size_t c = 0; c < to.width; ++c) {
            to.along[c] += share[c];
        }
    }
}

// The matrix of the columns times the vectors (rows): one pass over the data.
std::vector<double> multiply(nw_run* run, const View& view, std::size_t count, const std::vector<double>& vectors) {
    State& own = state(run);
    const std::size_t d = own.columns;
    const std::size_t width = (count + kWidthUnit - 1) / kWidthUnit * kWidthUnit;
    const Numbers basis = zeros(d * width);
    std::vector<double> centre(width, 0.0);
    for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t j = 0; j < d; ++j) {
            basis.get()[j * width + c] = vectors[c * d + j];
            centre[c] += view.centre[j] * vectors[c * d + j];
        }
    }
    const auto threads = static_cast<std::size_t>(run->threads);
    const std::size_t tall = simd_stride(d);
    std::vector<Product> parts(threads);
    for (Product& part : parts) {
        part = {width, basis.get(), zeros(tall * width), std::vector<double>(std::max(tall, width), 0.0)};
    }
    Block block;
    for (own.source->rewind(); own.source->next(block);) {
#pragma omp parallel for num_threads(run->threads) schedule(static, 1)
        for (std::size_t t = 0; t < threads; ++t) {
            const std::size_t begin = block.count * t / threads;
            const std::size_t end = block.count * (t + 1) / threads;
            if (block.dense != nullptr) {
                dense_product(block, view, begin, end, parts[t]);
            } else {
                sparse_product(block, view, centre, begin, end, parts[t]);
            }
        }
    }
    std::vector<double> image(count * d, 0.0);
    const double each = 1.0 / (static_cast<double>(own.rows) - 1.0);
    for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t j = 0; j < d; ++j) {
            double sum = 0;
            for (const Product& part : parts) {
                sum += part.image.get()[j * width + c] - (own.sparse ? view.centre[j] * part.along[c] : 0.0);
            }
            image[c * d + j] = sum * each;
        }
    }
    return image;
}

// Components within a span: its vectors turned, and what the matrix makes of them.
struct Ritz {
    std::vector<double> values;
    std::vector<double> vectors;
    std::vector<double> images;
};

std::vector<double> turn(const std::vector<double>& by, const std::vector<double>& vectors, std::size_t count,
                         std::size_t size) {
    std::vector<double> turned(count * size, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < count; ++k) {
            const double share = by[i * count + k];
            for (std::size_t j = 0; j < size; ++j) {
                turned[i * size + j] += share * vectors[k * size + j];
            }
        }
    }
    return turned;
}

Ritz components_in(std::size_t count, std::size_t size, const std::vector<double>& span,
                   const std::vector<double>& images) {
    std::vector<double> matrix(count * count);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k <= i; ++k) {
            const double* from = span.data() + i * size;
            const double* to = span.data() + k * size;
            matrix[i * count + k] =
                0.5 * (dot(from, images.data() + k * size, size) + dot(to, images.data() + i * size, size));
            matrix[k * count + i] = matrix[i * count + k];
        }
    }
    std::vector<double> by(count * count);
    Ritz found;
    found.values.resize(count);
    eigen_tridiagonal(count, matrix.data(), found.values.data(), by.data());
    sort_and_turn(count, count, found.values.data(), by.data());
    found.vectors = turn(by, span, count, size);
    found.images = turn(by, images, count, size);
    return found;
}

// How far the first components are from being such, in the largest eigenvalue.
double residual(const Ritz& found, std::size_t kept, std::size_t size) {
    double worst = 0;
    for (std::size_t k = 0; k < kept; ++k) {
        double sum = 0;
        for (std::size_t j = 0; j < size; ++j) {
            const double off = found.images[k * size + j] - found.values[k] * found.vectors[k * size + j];
            sum += off * off;
        }
        worst = std::max(worst, std::sqrt(sum));
    }
    return found.values[0] > 0 ? worst / found.values[0] : 0.0;
}

std::size_t width_of(const State& own) { return std::min(own.columns, own.kept + std::max(own.kept, kFewestMore)); }

int analyse_leading(nw_run* run) {
    const State& own = state(run);
    const std::size_t d = own.columns;
    const Spread all = all_spread(run);
    const Frame frame{all.mean, scales(own.method, all.squares, all.count)};
    double variance = 0;
    for (std::size_t j = 0; j < d; ++j) {
        variance += all.squares[j] / (all.count - 1.0) * frame.scale[j] * frame.scale[j];
    }
    const View view = view_of(own, frame, all);
    const std::size_t width = width_of(own);
    std::vector<double> span(width * d, 0.0);
    orthonormalise(run, width, d, span);
    for (int pass = 1; pass <= kMostPasses; ++pass) {
        Ritz found = components_in(width, d, span, multiply(run, view, width, span));
        if (residual(found, own.kept, d) <= 0.5 * own.accuracy) {
            hand_out(run, frame, width, found.values.data(), found.vectors.data(), variance);
            nw_report(run, "passes", pass + 1);
            return 0;
        }
        span = std::move(found.images);
        orthonormalise(run, width, d, span);
    }
    return nw_fail(run,
                   "after %d passes the first %zu components are not told from the next to 10^%.0f of the largest\n"
                   "hint: ask for fewer digits, or for some components more or less",
                   kMostPasses, own.kept, std::log10(own.accuracy));
}

}  // namespace

int randomized(nw_run* run) {
    if (!state(run).leading) {
        return nw_fail(run, "randomized finds the first components alone\nhint: say how many: components=8");
    }
    try {
        return analyse_leading(run);
    } catch (const std::exception& problem) {
        return nw_fail(run, "%s", problem.what());
    }
}

void randomized_work(const nw_run* run, nw_work* out) {
    const State& own = state(run);
    const auto n = static_cast<double>(own.rows);
    // the least: one pass for the spread, one that multiplies the vectors; how many there are is a metric
    const double cells = own.sparse ? static_cast<double>(own.stored) : n * static_cast<double>(own.columns);
    out->items = n;
    out->flops = cells * (3.0 + 4.0 * static_cast<double>(width_of(own)));
    out->bytes_read = 2.0 * cells * (own.sparse ? 12.0 : 8.0);
    add_projection(own, out);
}

}  // namespace pca
