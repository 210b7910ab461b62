// SPDX-License-Identifier: BSD-3-Clause
// Schemes of parity: what each parity stripe is of the data, and what brings back lost stripes.
//
// Linear schemes: parity i is the sum over j of coefficient (i, j) times data stripe j, in GF(2^8) with the polynomial
// 0x11d, where a sum is XOR. Horizontal and vertical: one parity is the XOR across the stripes; for the other each data
// stripe is cut into ten rows, and block i is the XOR of stripe i's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace parity {

constexpr std::size_t kRows = 10;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostStripes = 12;

enum class Kind { horizontal, pq, rs, xor2 };

struct Scheme {
    Kind kind = Kind::xor2;
    std::size_t data = 10;
    std::size_t parity = 2;
    std::vector<std::uint8_t> coefficients;  // of each parity stripe; for xor2 of the horizontal one
};

// The scheme of that name, false where there is none.
bool find_scheme(const char* name, Scheme& into);

std::uint8_t multiply(std::uint8_t a, std::uint8_t b);
std::uint8_t inverse(std::uint8_t a);

// What the coefficients of a step are: ones; a row of ones and one of the powers of two, as in RAID 6; or any.
enum class Form { sum, sum_and_powers, any };

// One linear combination: outputs from sources, by stripe numbers; coefficients are outputs × sources. What multiplies
// by each: in `tables` the products of the 16 low halves of a byte, then of the 16 high ones; in `matrices` a matrix
// over GF(2), as x86's GFNI takes it: byte 7 - i is row i, its bit j that of input bit j.
struct Step {
    std::vector<std::size_t> sources;
    std::vector<std::size_t> outputs;
    std::vector<std::uint8_t> coefficients;
    std::vector<std::uint8_t> tables;
    std::vector<std::uint64_t> matrices;
    Form form = Form::any;
    bool vertical = false;  // instead of all that: the vertical parity, from the data
};

// The step's tables, matrices and form, from its coefficients.
void make_tables(Step& step);

// All parities.
std::vector<Step> encode_steps(const Scheme& scheme);

// What brings back the stripes in `lost` (a bit each, data first); false where nothing does.
bool rebuild_steps(const Scheme& scheme, unsigned lost, std::vector<Step>& steps);

// Bytes of a stripe, and how the vertical parity cuts it.
struct Sizes {
    explicit Sizes(std::size_t bytes)
        : stripe(bytes), row(round_up((bytes + kRows - 1) / kRows)), rows((bytes + row - 1) / row) {}
    static std::size_t round_up(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
    std::size_t stripe;
    std::size_t row;
    std::size_t rows;                                               // that are not empty
    std::size_t last() const { return stripe - (rows - 1) * row; }  // bytes of the last of them
    std::size_t spacing() const { return round_up(stripe); }
    std::size_t of(const Scheme& scheme, std::size_t number) const {
        return scheme.kind == Kind::xor2 && number == scheme.data + 1 ? kRows * row : stripe;
    }
};

}  // namespace parity
