// SPDX-License-Identifier: BSD-3-Clause
// First touch: memory goes to the node of the thread that touches it first, so each thread touches what will be its
// share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace nodewise {

// Writes a zero to each page of an array, in equal neighbouring parts by thread, as a static schedule deals out
// elements.
void first_touch(void* data, std::size_t bytes, int threads);

// Whole pages of an array: all of them, those on the node that their share's thread runs on, and their number by node.
struct PagesSeen {
    std::uint64_t pages = 0;
    std::uint64_t local = 0;
    std::map<std::string, std::uint64_t> by_node;
    PagesSeen& operator+=(const PagesSeen& other);
};

// Asks the kernel (move_pages(2), which moves nothing without a list of nodes). The threads must be placed as they were
// when they touched.
PagesSeen see_pages(void* data, std::size_t bytes, int threads);

}  // namespace nodewise
