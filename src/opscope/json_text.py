"""JSON of other tools, from files that may be damaged."""

from __future__ import annotations

import json
from typing import Any

from opscope.errors import SourceError


def parsed_json(text: str | bytes, what: str = "") -> Any:
    """The data of a JSON text. `what` names the text in the message if it is only a part of the source."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise SourceError(f"{what}not valid JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:  # a number of 5000 digits, bytes that are not UTF-8, or deep nesting
        raise SourceError(f"{what}not valid JSON: {error}") from None
