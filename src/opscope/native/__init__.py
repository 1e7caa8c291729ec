"""opscope's own JSON: a Program written down so that people can read and diff it, and other tools can make it.

`docs/native-json.md` describes the format and `schema/opscope-1.schema.json` states it for machines.
"""

from opscope.native.reading import decode, loads
from opscope.native.writing import chunks, dumps

__all__ = ["chunks", "decode", "dumps", "loads"]
