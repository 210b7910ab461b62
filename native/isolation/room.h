// SPDX-License-Identifier: BSD-3-Clause
// A room of its own for a runtime: mounts and processes that end with it, a folder in memory, and a read-only root.
#pragma once

#include <string>

#include "isolation/spec.h"

namespace nodewise {

// Clones of the trees that are shown inside, taken before anything is mounted over them.
class Room {
  public:
    // Leaves this process's mounts, and its user where it is not root. Children have processes of their own.
    // Raises std::system_error.
    explicit Room(const Spec& spec);
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    // In the first child: makes the folder, below it `rootfs`, and the file of the report. Raises std::system_error.
    void furnish(const Spec& spec);

    [[nodiscard]] const std::string& scratch() const { return scratch_; }
    [[nodiscard]] std::string root() const { return scratch_ + "/rootfs"; }
    // The folder that both sides see, here and inside.
    [[nodiscard]] std::string shared() const { return root() + kShared; }
    static constexpr const char* kShared = "/run/nodewise";

  private:
    std::string scratch_;
    int tree_ = -1;
    int self_ = -1;
    std::vector<int> volumes_;
};

}  // namespace nodewise
