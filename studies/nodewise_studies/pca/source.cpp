// SPDX-License-Identifier: BSD-3-Clause
#include "source.h"

#include <algorithm>
#include <utility>

#include "csv.h"

namespace pca {
namespace {

// The arrays of the run, as one block.
class Memory : public Source {
  public:
    explicit Memory(const nw_run* run) {
        const State& own = state(run);
        whole_.count = own.rows;
        whole_.columns = own.columns;
        if (own.sparse) {
            whole_.starts = static_cast<const std::int64_t*>(nw_data(run, "starts"));
            whole_.ends = whole_.starts + 1;
            whole_.column = static_cast<const std::int32_t*>(nw_data(run, "column"));
            whole_.value = static_cast<const double*>(nw_data(run, "value"));
        } else {
            whole_.dense = static_cast<const double*>(nw_data(run, "data"));
        }
    }
    void rewind() override { given_ = false; }
    bool next(Block& block) override {
        block = whole_;
        return !std::exchange(given_, true);
    }

  private:
    Block whole_;
    bool given_ = false;
};

class Generated : public Source {
  public:
    explicit Generated(const nw_run* run) : run_(run), at_most_(std::min(state(run).block_rows, state(run).rows)) {
        const State& own = state(run);
        const std::size_t cells = at_most_ * own.columns;
        value_.resize(cells);
        if (own.sparse) {
            column_.resize(cells);
            starts_.resize(at_most_);
            ends_.resize(at_most_);
        }
    }
    void rewind() override { at_ = 0; }
    bool next(Block& block) override {
        const State& own = state(run_);
        const std::size_t count = std::min(at_most_, own.rows - at_);
        block = {};
        block.count = count;
        block.columns = own.columns;
        if (own.sparse) {
            make_sparse(count);
            block.starts = starts_.data();
            block.ends = ends_.data();
            block.column = column_.data();
            block.value = value_.data();
        } else {
            generate_rows(run_, at_, count, value_.data());
            block.dense = value_.data();
        }
        at_ += count;
        return count > 0;
    }

  private:
    void make_sparse(std::size_t count) {
        const std::size_t columns = state(run_).columns;
#pragma omp parallel for num_threads(run_->threads) schedule(static)
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t begin = i * columns;
            starts_[i] = static_cast<std::int64_t>(begin);
            ends_[i] = static_cast<std::int64_t>(
                begin + generate_sparse_row(run_, at_ + i, column_.data() + begin, value_.data() + begin));
        }
    }

    const nw_run* run_;
    std::size_t at_most_;
    std::size_t at_ = 0;
    std::vector<double> value_;
    std::vector<std::int32_t> column_;
    std::vector<std::int64_t> starts_;
    std::vector<std::int64_t> ends_;
};

class File : public Source {
  public:
    explicit File(const nw_run* run)
        : reader_(state(run).file, state(run).text_bytes, state(run).block_rows, state(run).sparse, run->threads) {}
    void rewind() override { reader_.rewind(); }
    bool next(Block& block) override { return reader_.next(block); }

  private:
    CsvReader reader_;
};

}  // namespace

std::unique_ptr<Source> make_source(nw_run* run) {
    const State& own = state(run);
    if (!own.streamed) {
        return std::make_unique<Memory>(run);
    }
    if (!own.file.empty()) {
        return std::make_unique<File>(run);
    }
    return std::make_unique<Generated>(run);
}

}  // namespace pca
