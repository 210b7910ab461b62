# SPDX-License-Identifier: BSD-3-Clause
"""`python -m nodewise`."""

import sys

from nodewise.cli.main import main

sys.exit(main())
