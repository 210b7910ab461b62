// SPDX-License-Identifier: BSD-3-Clause
// What nodewise-isolate is told: how a program is to be isolated, as the engine writes it.
#pragma once

#include <string>
#include <vector>

namespace nodewise {

// A folder of this system that is seen inside at the same place.
struct Volume {
    std::string path;
    bool writable = false;
};

struct Spec {
    // The file that gets the report; empty where nobody reads one.
    std::string report;
    // The runtime's words: {scratch} is a folder in memory that only it sees, {cwd} the directory to run in, {id} a new
    // name; {program} stands for the words of the program, started by us inside, and {self} is our file, to be shown as
    // /run/nodewise/isolate: where no word is {self}, we are seen inside where we are.
    std::vector<std::string> words;
    // Whether the runtime gets mounts, processes and a folder in memory of its own, which end with it.
    bool scratch = false;
    // An OCI bundle's config.json without what is of the program, as JSON; null where there is none.
    std::string config;
    // Mounts that the runtime is not to see, such as a hierarchy of control groups that it does not understand.
    std::vector<std::string> hidden;
    std::vector<Volume> volumes;
    // A guest's first file system, to which the program is added; empty where there is no guest.
    std::string initrd;
    // What the guest is told besides, as JSON.
    std::string guest;
};

// Raises std::exception for what is no such text.
Spec parse_spec(const std::string& text);

}  // namespace nodewise
