// SPDX-License-Identifier: BSD-3-Clause
#include "worker/first_touch.h"

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace nodewise {
namespace {

// Offsets into an array of the pages that begin in a thread's share; the first page may begin before the array.
struct Share {
    std::size_t begin;
    std::size_t end;
    std::size_t page;
};

Share share_of(const void* data, std::size_t bytes, int thread, int threads) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % page;
    const auto first = [&](int t) {
        const std::size_t at = bytes / static_cast<std::size_t>(threads) * static_cast<std::size_t>(t);
        return t == 0 ? 0 : std::min(bytes, (at + before + page - 1) / page * page - before);
    };
    return {first(thread), thread + 1 == threads ? bytes : first(thread + 1), page};
}

}  // namespace

void first_touch(void* data, std::size_t bytes, int threads) {
#pragma omp parallel num_threads(threads)
    {
        const Share own = share_of(data, bytes, omp_get_thread_num(), omp_get_num_threads());
        for (std::size_t at = own.begin; at < own.end; at += own.page) {
            static_cast<volatile char*>(data)[at] = 0;
        }
    }
}

PagesSeen& PagesSeen::operator+=(const PagesSeen& other) {
    pages += other.pages;
    local += other.local;
    for (const auto& [node, count] : other.by_node) {
        by_node[node] += count;
    }
    return *this;
}

PagesSeen see_pages(void* data, std::size_t bytes, int threads) {
    PagesSeen all;
#pragma omp parallel num_threads(threads)
    {
        const Share own = share_of(data, bytes, omp_get_thread_num(), omp_get_num_threads());
        std::vector<void*> pages;
        for (std::size_t at = own.begin; at < own.end; at += own.page) {
            pages.push_back(static_cast<char*>(data) + at);
        }
        std::vector<int> status(pages.size(), -1);
        unsigned processor = 0;
        unsigned node = 0;
        syscall(SYS_getcpu, &processor, &node, nullptr);
        PagesSeen mine;
        if (!pages.empty() && syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) == 0) {
            for (const int where : status) {
                if (where >= 0) {
                    ++mine.pages;
                    mine.local += static_cast<unsigned>(where) == node ? 1 : 0;
                    ++mine.by_node[std::to_string(where)];
                }
            }
        }
#pragma omp critical
        all += mine;
    }
    return all;
}

}  // namespace nodewise
