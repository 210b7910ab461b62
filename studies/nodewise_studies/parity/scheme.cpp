// SPDX-License-Identifier: BSD-3-Clause
#include "scheme.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace parity {
namespace {

// x / y with x a parity's number and y a data stripe's: any square part of this matrix (Cauchy's) has an inverse.
std::uint8_t cauchy(std::size_t parity, std::size_t stripe) {
    return inverse(static_cast<std::uint8_t>(parity ^ stripe));
}

// Gauss and Jordan; false where there is no inverse.
bool invert(std::vector<std::uint8_t> matrix, std::size_t n, std::vector<std::uint8_t>& into) {
    into.assign(n * n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        into[i * n + i] = 1;
    }
    for (std::size_t column = 0; column < n; ++column) {
        std::size_t pivot = column;
        while (pivot < n && matrix[pivot * n + column] == 0) {
            ++pivot;
        }
        if (pivot == n) {
            return false;
        }
        for (auto* both : {&matrix, &into}) {
            std::swap_ranges(both->begin() + static_cast<std::ptrdiff_t>(pivot * n),
                             both->begin() + static_cast<std::ptrdiff_t>((pivot + 1) * n),
                             both->begin() + static_cast<std::ptrdiff_t>(column * n));
        }
        const std::uint8_t scale = inverse(matrix[column * n + column]);
        for (auto* both : {&matrix, &into}) {
            for (std::size_t i = 0; i < n; ++i) {
                (*both)[column * n + i] = multiply(scale, (*both)[column * n + i]);
            }
        }
        for (std::size_t row = 0; row < n; ++row) {
            const std::uint8_t factor = matrix[row * n + column];
            for (auto* both : {&matrix, &into}) {
                for (std::size_t i = 0; i < n && row != column && factor != 0; ++i) {
                    (*both)[row * n + i] ^= multiply(factor, (*both)[column * n + i]);
                }
            }
        }
    }
    return true;
}

// Row `number` of data and parities as combinations of the data.
std::vector<std::uint8_t> row_of(const Scheme& scheme, std::size_t number) {
    std::vector<std::uint8_t> row(scheme.data, 0);
    if (number < scheme.data) {
        row[number] = 1;
    } else {
        const auto begin =
            scheme.coefficients.begin() + static_cast<std::ptrdiff_t>((number - scheme.data) * scheme.data);
        std::copy(begin, begin + static_cast<std::ptrdiff_t>(scheme.data), row.begin());
    }
    return row;
}

// The lost stripes from the first survivors that are independent of one another.
bool rebuild_linear(const Scheme& scheme, unsigned lost, std::size_t stripes, std::vector<Step>& steps) {
    Step step;
    std::vector<std::uint8_t> matrix;
    for (std::size_t i = 0; i < stripes; ++i) {
        if ((lost >> i & 1) != 0) {
            step.outputs.push_back(i);
        } else if (step.sources.size() < scheme.data) {
            step.sources.push_back(i);
            const std::vector<std::uint8_t> row = row_of(scheme, i);
            matrix.insert(matrix.end(), row.begin(), row.end());
        }
    }
    std::vector<std::uint8_t> back;
    if (step.sources.size() < scheme.data || !invert(matrix, scheme.data, back)) {
        return false;
    }
    for (const std::size_t output : step.outputs) {
        const std::vector<std::uint8_t> row = row_of(scheme, output);
        for (std::size_t j = 0; j < scheme.data; ++j) {
            std::uint8_t sum = 0;
            for (std::size_t i = 0; i < scheme.data; ++i) {
                sum ^= multiply(row[i], back[i * scheme.data + j]);
            }
            step.coefficients.push_back(sum);
        }
    }
    if (!step.outputs.empty()) {
        make_tables(step);
        steps.push_back(std::move(step));
    }
    return true;
}

Form form_of(const Step& step) {
    const std::size_t n = step.sources.size();
    std::uint8_t power = 1;
    bool powers = step.outputs.size() == 2;
    for (std::size_t i = 0; i < n; ++i, power = multiply(power, 2)) {
        if (step.coefficients[i] != 1) {
            return Form::any;
        }
        powers = powers && step.coefficients[n + i] == power;
    }
    return step.outputs.size() == 1 ? Form::sum : powers ? Form::sum_and_powers : Form::any;
}

std::uint64_t matrix_of(std::uint8_t c) {
    std::uint64_t matrix = 0;
    for (unsigned j = 0; j < 8; ++j) {
        const std::uint64_t column = multiply(c, static_cast<std::uint8_t>(1U << j));
        for (unsigned i = 0; i < 8; ++i) {
            matrix |= (column >> i & 1) << (8 * (7 - i) + j);
        }
    }
    return matrix;
}

Step vertical_step(const Scheme& scheme) {
    Step step;
    step.vertical = true;
    step.outputs = {scheme.data + 1};
    return step;
}

}  // namespace

std::uint8_t multiply(std::uint8_t a, std::uint8_t b) {
    unsigned product = 0;
    for (unsigned bit = 0, shifted = a; bit < 8; ++bit) {
        product ^= (b >> bit & 1U) != 0 ? shifted : 0;
        shifted = shifted << 1 ^ ((shifted & 0x80) != 0 ? 0x11dU : 0);
    }
    return static_cast<std::uint8_t>(product);
}

std::uint8_t inverse(std::uint8_t a) {
    // a^254
    std::uint8_t result = 1;
    for (int i = 0; i < 254; ++i) {
        result = multiply(result, a);
    }
    return result;
}

bool find_scheme(const char* name, Scheme& into) {
    if (name == nullptr || std::strcmp(name, "xor") == 0) {
        into = {Kind::xor2, 10, 2, std::vector<std::uint8_t>(10, 1)};
    } else if (std::strcmp(name, "horizontal") == 0) {
        into = {Kind::horizontal, 10, 1, std::vector<std::uint8_t>(10, 1)};
    } else if (std::strcmp(name, "pq") == 0) {
        into = {Kind::pq, 10, 2, std::vector<std::uint8_t>(20, 1)};
        for (std::size_t j = 1; j < 10; ++j) {
            into.coefficients[10 + j] = multiply(into.coefficients[9 + j], 2);
        }
    } else if (std::strcmp(name, "rs") == 0) {
        into = {Kind::rs, 9, 3, {}};
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < 9; ++j) {
                into.coefficients.push_back(cauchy(9 + i, j));
            }
        }
    } else {
        return false;
    }
    return true;
}

void make_tables(Step& step) {
    step.tables.clear();
    step.matrices.clear();
    step.form = form_of(step);
    for (const std::uint8_t c : step.coefficients) {
        for (unsigned half = 0; half < 2; ++half) {
            for (unsigned i = 0; i < 16; ++i) {
                step.tables.push_back(multiply(c, static_cast<std::uint8_t>(i << 4 * half)));
            }
        }
        step.matrices.push_back(matrix_of(c));
    }
}

std::vector<Step> encode_steps(const Scheme& scheme) {
    Step step;
    for (std::size_t j = 0; j < scheme.data; ++j) {
        step.sources.push_back(j);
    }
    const std::size_t linear = scheme.kind == Kind::xor2 ? 1 : scheme.parity;
    for (std::size_t i = 0; i < linear; ++i) {
        step.outputs.push_back(scheme.data + i);
    }
    step.coefficients = scheme.coefficients;
    make_tables(step);
    std::vector<Step> steps = {step};
    if (scheme.kind == Kind::xor2) {
        steps.push_back(vertical_step(scheme));
    }
    return steps;
}

bool rebuild_steps(const Scheme& scheme, unsigned lost, std::vector<Step>& steps) {
    steps.clear();
    if (scheme.kind != Kind::xor2) {
        return rebuild_linear(scheme, lost, scheme.data + scheme.parity, steps);
    }
    // the vertical parity holds a tenth of each stripe: it does not bring back a whole one
    const unsigned vertical = 1U << (scheme.data + 1);
    if (!rebuild_linear(scheme, lost & ~vertical, scheme.data + 1, steps)) {
        return false;
    }
    if ((lost & vertical) != 0) {
        steps.push_back(vertical_step(scheme));
    }
    return true;
}

}  // namespace parity
