// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/archive.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

namespace nodewise {
namespace {

constexpr std::size_t kAligned = 4;

void pad(std::string& text) { text.append((kAligned - text.size() % kAligned) % kAligned, '\0'); }

// Thirteen numbers in hexadecimal, the name and the data, each padded (cpio(5), "New ASCII Format").
void add(std::string& archive, const std::string& name, unsigned mode, const std::string& data) {
    std::array<char, 128> head{};
    std::snprintf(head.data(), head.size(), "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", 0U, mode,
                  0U, 0U, 1U, 0U, data.size(), 0U, 0U, 0U, 0U, name.size() + 1, 0U);
    archive += head.data();
    archive += name;
    archive += '\0';
    pad(archive);
    archive += data;
    pad(archive);
}

}  // namespace

void write_archive(const std::string& from, const std::string& to, const std::map<std::string, std::string>& files) {
    std::ifstream first(from, std::ios::binary);
    std::ofstream out(to, std::ios::binary);
    out << first.rdbuf();
    constexpr unsigned kRegular = 0100600;
    std::string more;
    for (const auto& [name, data] : files) {
        add(more, name, kRegular, data);
    }
    add(more, "TRAILER!!!", 0, "");
    out << more;
    if (!first || !out.flush()) {
        throw std::system_error(errno, std::generic_category(), "cannot write " + to);
    }
}

}  // namespace nodewise
