// SPDX-License-Identifier: BSD-3-Clause
// nodewise-hash: what md5sum(1) and its like print, by the study's kernels, many files at once.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "engine.h"
#include "files.h"

namespace {

constexpr int kBadInput = 2;
constexpr int kMostThreads = 1024;
constexpr const char* kUsage = "nodewise-hash [--function md5|sha1|sha256|sha512] [--threads N] FILE|DIR|@LIST...";

struct Wanted {
    std::string function = "sha256";
    int threads = 0;
    std::vector<std::string> where;
};

std::string text_of(int error) { return std::generic_category().message(error); }

// One message, as nodewise prints them.
[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
    std::fprintf(stderr, "error: %s\n\nhint: %s\n", what.c_str(), hint.c_str());
    std::exit(kBadInput);  // NOLINT(concurrency-mt-unsafe): one thread
}

int allowed_processors() {
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
}

// What follows an option, in the same word or the next; false where the word is not that option.
bool value_of(const char* option, char** words, int count, int& at, std::string& value) {
    const std::string_view word = words[at];
    const std::size_t size = std::strlen(option);
    if (word.substr(0, size) != option) {
        return false;
    }
    if (word.size() > size && word[size] == '=') {
        value = word.substr(size + 1);
        return true;
    }
    if (word.size() > size) {
        return false;
    }
    if (++at == count) {
        refuse(std::string(option) + " needs a value", kUsage);
    }
    value = words[at];
    return true;
}

Wanted read_words(char** words, int count) {
    Wanted wanted;
    bool options = true;
    for (int at = 1; at < count; ++at) {
        const std::string_view word = words[at];
        std::string value;
        if (!options || word.size() < 2 || word[0] != '-') {
            wanted.where.emplace_back(word);
        } else if (word == "--") {
            options = false;
        } else if (word == "--help" || word == "-h") {
            std::printf("Usage: %s\n\nPrints what md5sum and its like print, by as many threads as may run.\n", kUsage);
            std::exit(0);  // NOLINT(concurrency-mt-unsafe): one thread
        } else if (value_of("--function", words, count, at, value)) {
            wanted.function = value;
        } else if (value_of("--threads", words, count, at, value)) {
            char* end = nullptr;
            errno = 0;
            const long number = std::strtol(value.c_str(), &end, 10);
            if (errno != 0 || value.empty() || *end != '\0' || number < 1 || number > kMostThreads) {
                refuse("--threads: '" + value + "' is no number of threads", "give one from 1 to 1024");
            }
            wanted.threads = static_cast<int>(number);
        } else {
            refuse("no such option: " + std::string(word), kUsage);
        }
    }
    if (wanted.where.empty()) {
        refuse("no files are named", kUsage);
    }
    return wanted;
}

bool is_folder(const std::string& path) {
    struct stat about{};
    return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

// All regular files below a folder; links are not followed. A folder that cannot be read is told as md5sum tells of
// files; false then.
bool add_below(const std::string& folder, const char* function, std::vector<std::string>& into) {
    DIR* open = opendir(folder.c_str());
    if (open == nullptr) {
        std::fprintf(stderr, "%ssum: %s: %s\n", function, folder.c_str(), text_of(errno).c_str());
        return false;
    }
    bool whole = true;
    std::vector<std::string> folders;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    while (const dirent* entry = readdir(open)) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") {
            continue;
        }
        std::string path = folder;
        if (path.back() != '/') {
            path += '/';
        }
        path += name;
        unsigned char kind = entry->d_type;
        struct stat about{};
        if (kind == DT_UNKNOWN && lstat(path.c_str(), &about) == 0) {
            kind = S_ISDIR(about.st_mode) ? DT_DIR : S_ISREG(about.st_mode) ? DT_REG : DT_UNKNOWN;
        }
        if (kind == DT_DIR) {
            folders.push_back(std::move(path));
        } else if (kind == DT_REG) {
            into.push_back(std::move(path));
        }
    }
    closedir(open);
    for (const std::string& below : folders) {
        whole &= add_below(below, function, into);
    }
    return whole;
}

// The lines of a list, which ends each with a zero where it holds any.
void add_listed(const std::string& list, std::vector<std::string>& into) {
    const int file = open(list.c_str(), O_RDONLY | O_CLOEXEC);
    std::string text;
    char some[1U << 16U];
    ssize_t got = file < 0 ? -1 : 1;
    while (got > 0 || (got < 0 && file >= 0 && errno == EINTR)) {
        got = read(file, some, sizeof some);
        text.append(some, got > 0 ? static_cast<std::size_t>(got) : 0);
    }
    if (got < 0) {
        refuse("the list " + list + " cannot be read: " + text_of(errno), "give a file with a name a line");
    }
    close(file);
    const char end = text.find('\0') == std::string::npos ? '\n' : '\0';
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t stop = std::min(text.find(end, begin), text.size());
        if (stop > begin) {
            into.push_back(text.substr(begin, stop - begin));
        }
        begin = stop + 1;
    }
}

std::size_t digest_bytes(const std::string& function) {
    for (std::size_t f = 0; f < hash::kFunctions; ++f) {
        const hash::Shape& shape = hash::shape(static_cast<hash::Function>(f));
        if (function == shape.name) {
            return shape.digest;
        }
    }
    refuse("there is no function " + function, "functions: md5, sha1, sha256, sha512");
}

// A digest, two spaces, the name; a name with a backslash or a line's end is marked, and those are written out.
void add_line(const std::uint8_t* digest, std::size_t size, const std::string& name, std::string& out) {
    constexpr const char* kDigits = "0123456789abcdef";
    const bool marked = name.find_first_of("\\\n\r") != std::string::npos;
    if (marked) {
        out += '\\';
    }
    for (std::size_t i = 0; i < size; ++i) {
        out += kDigits[digest[i] >> 4U];
        out += kDigits[digest[i] & 15U];
    }
    out += "  ";
    for (const char sign : name) {
        switch (marked ? sign : ' ') {
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            default:
                out += sign;
        }
    }
    out += '\n';
}

}  // namespace

int main(int count, char** words) {
    const Wanted wanted = read_words(words, count);
    const char* function = wanted.function.c_str();
    const std::size_t size = digest_bytes(wanted.function);
    bool whole = true;
    std::vector<std::string> paths;
    for (const std::string& where : wanted.where) {
        const std::size_t before = paths.size();
        if (where.size() > 1 && where[0] == '@') {
            add_listed(where.substr(1), paths);
        } else if (is_folder(where)) {
            whole &= add_below(where, function, paths);
            std::sort(paths.begin() + static_cast<std::ptrdiff_t>(before), paths.end());
        } else {
            paths.push_back(where);
        }
    }
    std::string joined;
    for (const std::string& path : paths) {
        joined.append(path.c_str(), path.size() + 1);
    }
    std::vector<std::uint8_t> digests(size * paths.size() + 1);
    std::vector<std::int32_t> errors(paths.size());
    const int threads = wanted.threads > 0 ? wanted.threads : allowed_processors();
    nodewise_hash_files(function, joined.data(), paths.size(), digests.data(), errors.data(), threads);
    std::string out;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (errors[i] == 0) {
            add_line(digests.data() + i * size, size, paths[i], out);
        }
    }
    const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
    const int problem = errno;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (errors[i] != 0) {
            std::fprintf(stderr, "%ssum: %s: %s\n", function, paths[i].c_str(), text_of(errors[i]).c_str());
            whole = false;
        }
    }
    if (!written) {
        std::fprintf(stderr, "%ssum: write error: %s\n", function, text_of(problem).c_str());
        return 1;
    }
    return whole ? 0 : 1;
}
