// SPDX-License-Identifier: BSD-3-Clause
#include "worker/options.h"

#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>

namespace nodewise {
namespace {

Storage parse_storage(const std::string& text) {
    static const std::map<std::string, Storage> known = {
        {"plain", Storage::plain}, {"huge", Storage::huge}, {"fast", Storage::fast}};
    const auto found = known.find(text);
    if (found == known.end()) {
        throw std::invalid_argument("--storage can be plain, huge or fast, not '" + text + "'");
    }
    return found->second;
}

// Reads an option that takes a value; false where the word is none.
bool read_valued(Options& options, const std::string& word, const std::string* value) {
    static const std::map<std::string, std::string Options::*> texts = {
        {"--variant", &Options::variant}, {"--simd", &Options::simd},       {"--library", &Options::library},
        {"--dump", &Options::dump},       {"--corrupt", &Options::corrupt}, {"--mpi", &Options::mpi},
        {"--outputs", &Options::outputs},
    };
    static const std::map<std::string, int Options::*> numbers = {
        {"--threads", &Options::threads}, {"--repeat", &Options::repeat}, {"--ranks", &Options::ranks}};
    const auto text = texts.find(word);
    const auto counted = numbers.find(word);
    if (text == texts.end() && counted == numbers.end() && word != "--seed" && word != "--storage") {
        return false;
    }
    if (value == nullptr) {
        throw std::invalid_argument(word + " takes a value");
    }
    if (text != texts.end()) {
        options.*(text->second) = *value;
    } else if (counted != numbers.end()) {
        const long number = parse_number(word, *value, 1);
        if (number > std::numeric_limits<int>::max()) {
            throw std::invalid_argument(word + " takes no number as large as " + *value);
        }
        options.*(counted->second) = static_cast<int>(number);
    } else if (word == "--seed") {
        options.seed = static_cast<std::uint64_t>(parse_number(word, *value, 0));
    } else {
        options.storage = parse_storage(*value);
    }
    return true;
}

}  // namespace

long parse_number(const std::string& option, const std::string& text, long least) {
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < least) {
        throw std::invalid_argument(option + " takes a number from " + std::to_string(least) + ", not '" + text + "'");
    }
    return value;
}

Options parse_options(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--list") {
            options.list = true;
        } else if (word == "--pages") {
            options.pages = true;
        } else if (word == "--serve") {
            options.serve = true;
        } else if (word == "--work") {
            options.work = true;
        } else if (read_valued(options, word, i + 1 < words.size() ? &words[i + 1] : nullptr)) {
            ++i;
        } else if (const std::size_t sign = word.find('='); sign != std::string::npos && word[0] != '-') {
            options.knobs.emplace_back(word.substr(0, sign), word.substr(sign + 1));
        } else if (options.file.empty() && word[0] != '-') {
            options.file = word;
        } else {
            throw std::invalid_argument("unknown argument " + word);
        }
    }
    const bool given = options.list || options.serve || options.work || !options.variant.empty();
    if (options.file.empty() || !given) {
        throw std::invalid_argument(
            "usage: nodewise-worker STUDY.so (--list | --work | --serve | --variant NAME) [knob=value …]");
    }
    return options;
}

}  // namespace nodewise
