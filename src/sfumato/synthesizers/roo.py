"""`roo`: records released one by one by reveal-or-obscure, over all columns together.

Each record is a record of the table with probability 1-q and uniform over the product of the alphabets
otherwise (`sfumato.sampling.roo`; Tasnim, Gilani, Sankar, Kosut, arXiv 2504.14696). The draws compose, so the
more records are released, the less each of them tells. Over many columns nearly all of them are uniform: that
is the honest price of single records, and `sfumato plan` says when something else is cheaper.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.records import PURPOSE, RecordGenerator, check_records, learn_records


@synthesizer("roo")
@frozen(kw_only=True)
class Roo:
    """Records released one by one, each revealed or obscured."""

    name: ClassVar[str] = "roo"
    summary: ClassVar[str] = "single records, each of the table or uniform (reveal-or-obscure)"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    releases: ClassVar[str] = "roo"
    """The sampler of `sfumato.sampling` that releases the records."""
    needs_public_rows: ClassVar[bool] = False

    records: int = field(default=100)
    """Records that are released; a synthetic table repeats them when it is longer."""

    @records.validator
    def _check(self, _: object, records: int) -> None:
        check_records(records)

    def split(self, columns: int) -> dict[str, float]:
        return {PURPOSE: 1.0}

    def learn(self, curator: Curator, domain: Domain) -> RecordGenerator:
        return learn_records(curator, domain, sampler=self.releases, records=self.records)
