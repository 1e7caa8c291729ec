"""Writes the wire of a source, as pages have it, to standard output: `write_wire.py SOURCE`."""

import sys

from opscope.analysis.enrich import enrich
from opscope.loading import load_all
from opscope.render.wire.program import encode_wire

sys.stdout.buffer.write(encode_wire(enrich(load_all(sys.argv[1])[0]), own_text=True))
