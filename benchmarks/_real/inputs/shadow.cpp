// SPDX-License-Identifier: BSD-3-Clause
// shadow N: for each of N rows a sum over a part of it that grows with the row, so that the work of threads differs.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** words) {
  const int rows = count > 1 ? std::atoi(words[1]) : 6000;
  std::vector<double> sums(rows);
#pragma omp parallel for schedule(runtime)
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    for (int j = 0; j < i * 4; ++j) sum += std::sqrt(static_cast<double>(j) * i + 1.0) / (j + 1.0);
    sums[i] = sum;
  }
  double total = 0;
  for (double s : sums) total += s;
  std::printf("%.6e\n", total);
}
