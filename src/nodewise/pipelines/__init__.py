# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines: devices and channels of a file, each instance of a device a process, joined by messages"""
