// SPDX-License-Identifier: BSD-3-Clause
// One parallel region, so that an OpenMP runtime says where it binds its threads.
int main(void) {
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += 1;
    return sum == 0;
}
