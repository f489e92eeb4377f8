"""`ds-roo`: like `roo`, obscuring less where every combination of values is frequent.

The probability of obscuring falls with the smallest count over the whole alphabet
(`sfumato.sampling.ds_roo`). Where a table has more possible combinations than rows the smallest count is 0
and the method is `roo`. For replacing single rows the number of rows is public, as published; otherwise it is
private.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.records import RecordRelease


@synthesizer("ds-roo")
@frozen(kw_only=True)
class DsRoo(RecordRelease):
    """Records released one by one, obscured the less the more frequent the rarest combination is."""

    name: ClassVar[str] = "ds-roo"
    summary: ClassVar[str] = "single records, obscured less where all combinations are frequent"
    releases: ClassVar[str] = "ds-roo"
    needs_public_rows: ClassVar[bool] = True
