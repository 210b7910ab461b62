// SPDX-License-Identifier: BSD-3-Clause
#include "corpus.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

namespace compress {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKinds[] = {"text", "source", "json", "floats", "random"};
constexpr std::int64_t kNanoseconds = 1'000'000'000;

[[noreturn]] void refuse(const std::string& path, int error) {
    throw std::runtime_error("cannot read " + path + ": " + std::generic_category().message(error) +
                             "\nhint: name what can be read, by its path from here");
}

// The paths between commas. A path may have commas of its own: of the parts from one on, the most that exist together
// are one path.
std::vector<std::string> split(std::string_view text) {
    constexpr std::size_t kNone = std::string_view::npos;
    std::vector<std::string> paths;
    while (!text.empty()) {
        std::size_t end = text.size() <= PATH_MAX ? text.size() : text.rfind(',', PATH_MAX);
        std::error_code ignored;
        while (end != kNone && end > 0 && !fs::exists(fs::path(text.substr(0, end)), ignored)) {
            end = text.rfind(',', end - 1);
        }
        // what is not there is refused by its name, up to the next comma
        end = std::min(end == kNone || end == 0 ? text.find(',') : end, text.size());
        if (end > 0) {
            paths.emplace_back(text.substr(0, end));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return paths;
}

// By one name, however it was written, so that nothing counts twice.
std::string real(const std::string& path) {
    std::error_code problem;
    const fs::path known = fs::canonical(path, problem);
    if (problem) {
        refuse(path, problem.value());
    }
    return known.string();
}

File file_of(const std::string& path, const struct stat& known) {
    File file;
    file.path = path;
    file.size = static_cast<std::uint64_t>(known.st_size);
    file.changed_ns = static_cast<std::int64_t>(known.st_mtim.tv_sec) * kNanoseconds + known.st_mtim.tv_nsec;
    return file;
}

File named_file(const std::string& path) {
    struct stat known{};
    if (lstat(path.c_str(), &known) != 0) {
        refuse(path, errno);
    }
    if (!S_ISREG(known.st_mode)) {
        throw std::runtime_error(path + (S_ISDIR(known.st_mode) ? " is a folder: give it as folder=" : " is no file"));
    }
    if (access(path.c_str(), R_OK) != 0) {
        refuse(path, errno);
    }
    return file_of(path, known);
}

void walk(const fs::path& folder, bool named, std::map<std::string, File>& found, std::set<std::string>& unreadable) {
    std::error_code problem;
    fs::directory_iterator entries(folder, problem);
    if (problem) {
        if (named) {
            refuse(folder.string(), problem.value());
        }
        unreadable.insert(folder.string());
        return;
    }
    for (const fs::directory_entry& entry : entries) {
        const std::string path = entry.path().string();
        struct stat known{};
        const bool known_at_all = lstat(path.c_str(), &known) == 0;
        const bool regular = known_at_all && S_ISREG(known.st_mode);
        if (!known_at_all || (regular && access(path.c_str(), R_OK) != 0)) {
            unreadable.insert(path);
        } else if (S_ISDIR(known.st_mode)) {
            walk(entry.path(), false, found, unreadable);
        } else if (regular) {
            found.emplace(path, file_of(path, known));
        }
    }
}

// An open file, which has to be what it was when the work was laid out.
class Reader {
  public:
    explicit Reader(const File& file) : file_(file), descriptor_(open(file.path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (descriptor_ < 0) {
            refuse(file.path, errno);
        }
    }
    ~Reader() { close(descriptor_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void read(const Block& block, std::uint8_t* into) const {
        std::uint64_t done = 0;
        while (done < block.size) {
            const ssize_t got = pread(descriptor_, into + done, static_cast<std::size_t>(block.size - done),
                                      static_cast<off_t>(block.offset + done));
            if (got < 0) {
                refuse(file_.path, errno);
            }
            if (got == 0) {
                must_be_unchanged();
                throw std::runtime_error(file_.path +
                                         " holds less than its size says, as files of /sys do: leave it out");
            }
            done += static_cast<std::uint64_t>(got);
        }
    }

    void must_be_unchanged() const {
        struct stat now{};
        if (fstat(descriptor_, &now) != 0) {
            refuse(file_.path, errno);
        }
        const File seen = file_of(file_.path, now);
        if (seen.size != file_.size || seen.changed_ns != file_.changed_ns) {
            changed();
        }
    }

  private:
    [[noreturn]] void changed() const {
        throw std::runtime_error(file_.path + " changed while it was read: measure when nothing writes to it");
    }

    const File& file_;
    int descriptor_;
};

void load_files(const Corpus& corpus, const Window& window, std::uint8_t* into) {
    for (std::size_t i = 0; i < window.size();) {
        const Reader reader(corpus.files[window[i].file]);
        reader.must_be_unchanged();
        for (const std::size_t file = window[i].file; i < window.size() && window[i].file == file; ++i) {
            reader.read(window[i], into + window[i].at);
        }
        reader.must_be_unchanged();
    }
}

}  // namespace

Corpus find_files(std::string_view files, std::string_view folders) {
    std::map<std::string, File> found;
    std::set<std::string> unreadable;
    Corpus corpus;
    for (const std::string& path : split(files)) {
        const std::string known = real(path);
        found.emplace(known, named_file(known));
    }
    for (const std::string& folder : split(folders)) {
        walk(real(folder), true, found, unreadable);
    }
    corpus.unreadable = unreadable.size();
    for (auto& [path, file] : found) {
        corpus.bytes += file.size;
        corpus.files.push_back(std::move(file));
    }
    if (corpus.bytes == 0) {
        throw std::runtime_error("there is nothing to compress: " + std::to_string(corpus.files.size()) +
                                 " files that can be read, all empty; " + std::to_string(corpus.unreadable) +
                                 " that cannot");
    }
    return corpus;
}

Corpus generated_files(std::string_view kind, std::uint64_t bytes) {
    std::vector<std::string_view> kinds(std::begin(kKinds), std::end(kKinds));
    if (kind != "all") {
        kinds.assign(1, kind);
    }
    Corpus corpus;
    corpus.bytes = bytes;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        File file;
        file.path = kinds[i];
        file.size = bytes / kinds.size() + (i < bytes % kinds.size() ? 1 : 0);
        file.generated = true;
        corpus.files.push_back(std::move(file));
    }
    return corpus;
}

void cut(Corpus& corpus, std::uint64_t block, std::uint64_t window) {
    std::uint64_t used = 0;
    corpus.windows.assign(1, {});
    for (std::size_t i = 0; i < corpus.files.size(); ++i) {
        std::uint64_t offset = 0;
        // an empty file is a block, too
        do {
            const std::uint64_t size = std::min(block, corpus.files[i].size - offset);
            if (used > 0 && used + size > window) {
                corpus.windows.emplace_back();
                used = 0;
            }
            corpus.windows.back().push_back({i, offset, size, used});
            used += size;
            offset += size;
            corpus.largest_window = std::max(corpus.largest_window, used);
            corpus.largest_block = std::max(corpus.largest_block, size);
        } while (offset < corpus.files[i].size);
    }
}

void load(const Corpus& corpus, const Window& window, std::uint64_t seed, int threads, std::uint8_t* into) {
    if (!corpus.files.front().generated) {
        load_files(corpus, window, into);
        return;
    }
    // as many parts as there are threads to share them
    constexpr std::uint64_t kPart = std::uint64_t{256} << 10;
    Window parts;
    for (const Block& b : window) {
        for (std::uint64_t done = 0; done < b.size; done += kPart) {
            parts.push_back({b.file, b.offset + done, std::min(kPart, b.size - done), b.at + done});
        }
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::size_t i = 0; i < parts.size(); ++i) {
        generate(corpus.files[parts[i].file].path, seed, parts[i].offset, parts[i].size, into + parts[i].at);
    }
}

}  // namespace compress
