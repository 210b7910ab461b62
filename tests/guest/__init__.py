# SPDX-License-Identifier: BSD-3-Clause
"""Tests that run inside of the guest of tools/guest.py, which `./dev guest` boots; elsewhere they are not collected."""
