// SPDX-License-Identifier: BSD-3-Clause
// churn small|large: threads that hand small blocks to each other, or blocks so large that each is mapped anew.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

unsigned next(unsigned& state) { return state = state * 1664525u + 1013904223u; }

// a table of slots that both threads fill and empty: blocks are freed by another thread than the one that made them
long small_blocks() {
  constexpr int slots = 4096, steps = 2'500'000;
  std::vector<std::atomic<char*>> table(slots);
  std::atomic<long> total{0};
  auto work = [&](unsigned seed) {
    long made_bytes = 0;
    for (int i = 0; i < steps; ++i) {
      const std::size_t size = 16 + next(seed) % 700;
      char* made = static_cast<char*>(std::malloc(size));
      made[0] = static_cast<char>(size);
      made_bytes += static_cast<long>(size);
      std::free(table[(next(seed) >> 8) % slots].exchange(made));
    }
    total += made_bytes;
  };
  std::thread one(work, 1u), other(work, 2u);
  one.join();
  other.join();
  for (auto& slot : table) std::free(slot.load());
  return total;
}

long large_blocks() {
  long sum = 0;
  for (int i = 0; i < 24; ++i) {
    const std::size_t size = (40u << 20) + static_cast<std::size_t>(i) * 4096;
    char* made = static_cast<char*>(std::malloc(size));
    std::memset(made, i, size);
    sum += made[size / 2];
    std::free(made);
  }
  return sum;
}

}  // namespace

int main(int count, char** words) {
  std::printf("%ld\n", count > 1 && std::strcmp(words[1], "large") == 0 ? large_blocks() : small_blocks());
}
