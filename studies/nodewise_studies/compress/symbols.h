// SPDX-License-Identifier: BSD-3-Clause
// A library's functions by their names.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace compress {

// Sets `function` to the library's function of that name. Throws std::runtime_error where there is none.
template <typename Function>
void bind(void* handle, const char* name, Function*& function) {
    // POSIX lets a function's address travel as a void*
    function = reinterpret_cast<Function*>(dlsym(handle, name));
    if (function == nullptr) {
        throw std::runtime_error(std::string("the library has no ") + name);
    }
}

}  // namespace compress
