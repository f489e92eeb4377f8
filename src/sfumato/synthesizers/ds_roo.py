"""`ds-roo`: like `roo`, obscuring less where every combination of values is frequent.

The probability of obscuring falls with the smallest count over the whole alphabet
(`sfumato.sampling.ds_roo`). Where a table has more possible combinations than rows the smallest count is 0
and the method is `roo`. For replacing single rows the number of rows is public, as published; otherwise it is
private.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.records import PURPOSE, RecordGenerator, check_records, learn_records


@synthesizer("ds-roo")
@frozen(kw_only=True)
class DsRoo:
    """Records released one by one, obscured the less the more frequent the rarest combination is."""

    name: ClassVar[str] = "ds-roo"
    summary: ClassVar[str] = "single records, obscured less where all combinations are frequent"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    releases: ClassVar[str] = "ds-roo"
    """The sampler of `sfumato.sampling` that releases the records."""
    needs_public_rows: ClassVar[bool] = True
    """Whether replacing rows must not change their number."""

    records: int = field(default=100)
    """Records that are released; a synthetic table repeats them when it is longer."""

    @records.validator
    def _check(self, _: object, records: int) -> None:
        check_records(records)

    def split(self, columns: int) -> dict[str, float]:
        return {PURPOSE: 1.0}

    def learn(self, curator: Curator, domain: Domain) -> RecordGenerator:
        return learn_records(curator, domain, sampler=self.releases, records=self.records)
