# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on nodewise: kills, signals, full disks, damaged stores, hostile programs and hostile command lines, made up from a seed.

Each kind is a module with `attack(dice, place)`, which makes one attack and gives what it found wrong. `tools/attack.py` is
the campaign.
"""
