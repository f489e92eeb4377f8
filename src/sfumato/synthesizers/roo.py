"""`roo`: records released one by one by reveal-or-obscure, over all columns together.

Each record is a record of the table with probability 1-q and uniform over the product of the alphabets
otherwise (`sfumato.sampling.roo`; Tasnim, Gilani, Sankar, Kosut, arXiv 2504.14696). The draws compose, so the
more records are released, the less each of them tells. Over many columns nearly all of them are uniform: that
is the honest price of single records, and `sfumato plan` says when something else is cheaper.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.records import RecordRelease


@synthesizer("roo")
@frozen(kw_only=True)
class Roo(RecordRelease):
    """Records released one by one, each revealed or obscured."""

    name: ClassVar[str] = "roo"
    summary: ClassVar[str] = "single records, each of the table or uniform (reveal-or-obscure)"
    releases: ClassVar[str] = "roo"
    needs_public_rows: ClassVar[bool] = False
