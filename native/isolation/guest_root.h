// SPDX-License-Identifier: BSD-3-Clause
// A guest's root from an image that lies in its memory, as the kernel maps it (DAX): no page of it is copied.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace nodewise {

// The program as it is named, and the folders that it is looked for in, as execvp does.
struct Program {
    std::string name;
    std::string path;

    // The files that it may be, in that order.
    [[nodiscard]] std::vector<std::string> files() const;
};

// A file or folder of the host, seen inside.
struct Shown {
    std::string from;
    std::string at;
    bool is_folder = true;
};

// What the host asks for: the image's file system with its mount's options, and what of the host is to be seen in it.
struct AskedRoot {
    // `is_folder` is found out here; `lacking` says that it is shown only where the image has no such program.
    struct Part {
        Shown shown;
        bool lacking = false;
    };
    std::string kind;
    std::string options;
    std::vector<Part> parts;
};

// Where the image is mounted, and what of the host is seen in it.
struct MappedRoot {
    std::string base;
    std::vector<Shown> shown;
};

// Mounts the image, read-only and mapped. What it lacks of the places that are needed, for what is shown of the host,
// which is mounted at `host`, and with `names` for name servers, is laid over it, empty. What is shown only where it is
// lacking is `program`'s file: not where the image has one of that name on `path`. Raises std::runtime_error in the
// kernel's words, also where the image is mounted without being mapped.
MappedRoot mapped_root(const AskedRoot& root, const std::string& host, const Program& program, bool names);

// Shows what of the host is to be seen, and the image itself at /run/image, once memory is mounted where programs
// write. Raises std::runtime_error.
void show_from_host(const MappedRoot& root);

// In the root that the program sees: whether the kernel maps the program's file. True for one that the host shows,
// whose file system has the number `host`, and for one that is not there.
bool is_mapped(const Program& program, dev_t host);

}  // namespace nodewise
