"""Writes the rules of a predefined style to standard output: `write_rules.py NAME`."""

import json
import sys

from opscope.render.draw.predefined import PREDEFINED_STYLES

json.dump(PREDEFINED_STYLES[sys.argv[1]].rules, sys.stdout)
