# SPDX-License-Identifier: BSD-3-Clause
"""What is reported of a file's loops: causes in plain words, what to change, and the text of it."""
