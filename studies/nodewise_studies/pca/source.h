// SPDX-License-Identifier: BSD-3-Clause
// Where the rows come from, block by block: the arrays in memory, a file that is read, or the generator.
#pragma once

#include <memory>

#include "pca.h"

namespace pca {

class Source {
  public:
    Source() = default;
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    virtual void rewind() = 0;
    // The next rows, valid until the next call; false at the end. Throws std::runtime_error with what is wrong.
    virtual bool next(Block& block) = 0;
};

// The study's source at this run's knobs.
std::unique_ptr<Source> make_source(nw_run* run);

}  // namespace pca
