// SPDX-License-Identifier: BSD-3-Clause
// Files of five kinds, made in chunks that each follow from the seed and their number alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "abi/kernel.h"
#include "corpus.h"

namespace compress {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{64} << 10;
constexpr std::size_t kWords = 4096;

// One random number after the other.
class Random {
  public:
    explicit Random(std::uint64_t state) : state_(state) {}

    std::uint64_t next() { return nw_random(state_, index_++); }

    std::uint64_t below(std::uint64_t most) { return next() % most; }

    double uniform() { return nw_uniform(next()); }

  private:
    std::uint64_t state_;
    std::uint64_t index_ = 0;
};

// A word by its rank; made from its rank alone, so that all chunks share one vocabulary.
std::string word_of(std::uint64_t seed, std::uint64_t rank) {
    constexpr std::array<const char*, 32> kSyllables = {
        "ta", "re", "in", "on", "es", "ar",  "li", "con", "de", "mi", "ter", "o",  "ca", "al",  "ver", "un",
        "ma", "se", "er", "di", "no", "pro", "ti", "ex",  "la", "or", "sta", "en", "ou", "ing", "the", "e"};
    Random random(seed * kWords + rank);
    std::string word;
    for (std::uint64_t left = 1 + random.below(rank < 64 ? 2 : 4); left > 0; --left) {
        word += kSyllables[random.below(kSyllables.size())];
    }
    return word;
}

// The word of rank k comes 1/k as often as the first, as words do.
std::string word(Random& random, std::uint64_t seed) {
    const double rank = std::pow(static_cast<double>(kWords), random.uniform());
    return word_of(seed, static_cast<std::uint64_t>(rank));
}

std::string text_part(Random& random, std::uint64_t seed) {
    std::string sentence = word(random, seed);
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    for (std::uint64_t left = 3 + random.below(18); left > 0; --left) {
        sentence += random.below(11) == 0 ? ", " : " ";
        sentence += word(random, seed);
    }
    return sentence + (random.below(6) == 0 ? ".\n\n" : ". ");
}

std::string source_part(Random& random, std::uint64_t seed) {
    const std::string a = word(random, seed), b = word(random, seed), c = word(random, seed);
    const std::string number = std::to_string(random.below(64));
    switch (random.below(8)) {
        case 0:
            return "static int " + a + "_" + b + "(const struct " + c + "* " + b + ", size_t count) {\n";
        case 1:
            return "    for (size_t i = 0; i < " + a + "->count; ++i) {\n";
        case 2:
            return "        " + a + "[i] = " + b + "[i] + " + number + " * " + c + ";\n";
        case 3:
            return "    if (" + a + " == NULL || " + b + "->" + c + " < " + number + ") {\n        return -1;\n    }\n";
        case 4:
            return "    }\n    return " + a + ";\n}\n\n";
        case 5:
            return "/* " + a + " " + b + " " + word(random, seed) + " " + c + " */\n";
        case 6:
            return "#define " + a + "_" + b + " " + number + "\n";
        default:
            return "    " + a + "(" + b + ", " + c + "->" + a + ");\n";
    }
}

std::string json_part(Random& random, std::uint64_t seed, std::uint64_t line) {
    constexpr std::array<const char*, 8> kLevels = {"info", "info",  "info",    "info",
                                                    "info", "debug", "warning", "error"};
    constexpr std::array<int, 8> kCodes = {200, 200, 200, 200, 201, 304, 404, 500};
    const std::uint64_t ms = line * 7 + random.below(7);
    std::array<char, 320> out{};
    const std::string path = "/v1/" + word(random, seed) + "/" + std::to_string(random.below(100000));
    const int wrote = std::snprintf(
        out.data(), out.size(),
        R"({"time":"2024-05-%02uT%02u:%02u:%02u.%03uZ","level":"%s","service":"%s","path":"%s","status":%d,"ms":%.2f,"id":"%016llx"})"
        "\n",
        static_cast<unsigned>(1 + ms / 86400000 % 28), static_cast<unsigned>(ms / 3600000 % 24),
        static_cast<unsigned>(ms / 60000 % 60), static_cast<unsigned>(ms / 1000 % 60), static_cast<unsigned>(ms % 1000),
        kLevels[random.below(kLevels.size())], word_of(seed, 100 + random.below(12)).c_str(), path.c_str(),
        kCodes[random.below(kCodes.size())], 900 * std::pow(random.uniform(), 6),
        static_cast<unsigned long long>(random.next()));
    return {out.data(), static_cast<std::size_t>(std::min<int>(wrote, out.size() - 1))};
}

// A smooth signal with a sensor's noise and resolution, as 32-bit floating-point numbers.
std::string float_part(Random& random, std::uint64_t index) {
    constexpr double kStep = 0x1p-12;
    const auto t = static_cast<double>(index);
    const double value = 20 + 5 * std::sin(t * 1e-3) + std::sin(t * 0.037) + 0.01 * (random.uniform() - 0.5);
    const auto stored = static_cast<float>(std::round(value / kStep) * kStep);
    std::string out(sizeof stored, '\0');
    std::memcpy(out.data(), &stored, sizeof stored);
    return out;
}

std::string random_part(Random& random) {
    const std::uint64_t value = random.next();
    std::string out(sizeof value, '\0');
    std::memcpy(out.data(), &value, sizeof value);
    return out;
}

void fill_chunk(std::string_view kind, std::uint64_t seed, std::uint64_t chunk, std::uint8_t* into) {
    Random random((seed + 1) * 0xd1342543de82ef95U + chunk * 5 + static_cast<std::uint64_t>(kind[0]));
    std::uint64_t at = 0, part = 0;
    while (at < kChunk) {
        const std::uint64_t number = chunk * (kChunk / sizeof(float)) + part++;
        std::string next;
        if (kind == "text") {
            next = text_part(random, seed);
        } else if (kind == "source") {
            next = source_part(random, seed);
        } else if (kind == "json") {
            next = json_part(random, seed, number);
        } else if (kind == "floats") {
            next = float_part(random, number);
        } else {
            next = random_part(random);
        }
        const std::uint64_t size = std::min<std::uint64_t>(next.size(), kChunk - at);
        std::memcpy(into + at, next.data(), static_cast<std::size_t>(size));
        at += size;
    }
}

}  // namespace

void generate(std::string_view kind, std::uint64_t seed, std::uint64_t offset, std::uint64_t size, std::uint8_t* into) {
    std::array<std::uint8_t, kChunk> chunk;
    for (std::uint64_t done = 0; done < size;) {
        const std::uint64_t number = (offset + done) / kChunk, from = (offset + done) % kChunk;
        const std::uint64_t taken = std::min(kChunk - from, size - done);
        fill_chunk(kind, seed, number, chunk.data());
        std::memcpy(into + done, chunk.data() + from, static_cast<std::size_t>(taken));
        done += taken;
    }
}

}  // namespace compress
