"""`python -m opscope`."""

from __future__ import annotations

import sys

from opscope.cli import main

sys.exit(main())
