"""The column kinds, one file each; a new file with a class under `@kind("…")` is all a new kind needs."""

from sfumato.domain.column import kinds, read_column
from sfumato.domain.kinds.boolean import Bool
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.kinds.date import Date
from sfumato.domain.kinds.datetime import Datetime
from sfumato.domain.kinds.duration import Duration
from sfumato.domain.kinds.identifier import Id
from sfumato.domain.kinds.integer import Int
from sfumato.domain.kinds.real import Float
from sfumato.domain.kinds.text import Text

__all__ = [
    "Bool",
    "Categorical",
    "Date",
    "Datetime",
    "Duration",
    "Float",
    "Id",
    "Int",
    "Text",
    "kinds",
    "read_column",
]
