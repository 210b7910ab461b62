// SPDX-License-Identifier: BSD-3-Clause
// Included first by each file that computes distances: a product and a sum are rounded one by one, never fused, so that
// a distance has the same bits in every variant, on every processor.
#pragma once

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
