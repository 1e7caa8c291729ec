"""opscope's own JSON: Programs as text that people can read and diff, and that other tools can write.

`docs/native-json.md` describes the format; `schema/opscope-1.schema.json` is its JSON Schema.
"""

from opscope.native.reading import decode, loads
from opscope.native.writing import chunks, dumps

__all__ = ["chunks", "decode", "dumps", "loads"]
