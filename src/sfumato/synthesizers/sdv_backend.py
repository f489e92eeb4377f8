"""`backend = "sdv"`: methods without a guarantee by the package SDV, where the user has it installed.

SDV is given codes as columns: a number is drawn uniformly in its cell, a label is the text of its code, and
missing and special codes of a number are a column of labels beside it. It is fitted and asked for rows at
once, by its public interface alone, and those rows are what the model keeps: what SDV itself would store can
only be read by running code that a file brings.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.domain.codecs import Codec, GridCodec
from sfumato.errors import JobError, UsageError
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.exact_margins import exact_margins
from sfumato.synthesizers.recipe import generator
from sfumato.synthesizers.released_generator import ReleasedRecords

CLASSES = {
    "ctgan": "CTGANSynthesizer",
    "tvae": "TVAESynthesizer",
    "copula-gan": "CopulaGANSynthesizer",
    "gaussian-copula": "GaussianCopulaSynthesizer",
}
INSTALL = "pip install sdv"
FEW = 2
"""Numbers of at most so many cells are labels."""


@generator("sdv")
@frozen(kw_only=True, eq=False)
class SdvRows(ReleasedRecords):
    """Rows that SDV drew. At most so many different ones can be drawn from them."""

    kind: ClassVar[str] = "sdv"
    more: ClassVar[str] = "ask for fewer, or fit again with the option sdv_rows"


def check_installed(method: str) -> None:
    """UsageError with the command that installs SDV, where it is missing."""
    try:
        importlib.import_module("sdv.single_table")
    except ImportError:
        raise UsageError(
            f"method {method!r} with backend = 'sdv' needs the package 'sdv', which is not installed",
            mend=f"{INSTALL}, or leave backend out",
        ) from None


def rows_to_keep(backend: str, chosen: int, asked: int | None) -> int:
    """Rows that SDV is to draw when `asked` will be asked for; 0: as many as the table has."""
    if backend != "sdv" or asked is None:
        return chosen
    if chosen and asked > chosen:
        raise UsageError(
            f"{asked:,} rows were asked for, but SDV is to draw {chosen:,}",
            mend="set sdv_rows to the number of rows, or leave it out",
        )
    return chosen or asked


def learn(
    curator: Curator, domain: Domain, *, method: str, options: dict[str, Any], keep: int
) -> ReleasedRecords:
    """Fit the synthesizer of SDV that `method` names, with its `options`, and keep `keep` rows of it (0: as
    many as there are).
    """
    check_installed(method)
    curator.reveal(f"{method} of the package SDV is fitted to the rows as they are")
    total, shares = exact_margins(curator, domain.codecs)
    learner = SdvLearner(
        codecs=domain.codecs, shares=shares, method=method, options=options, keep=keep or round(total)
    )
    records: Any = curator.train_unprotected(learner, encoders=domain.codecs, purpose="training")
    return SdvRows(records=records, sizes=tuple(codec.size for codec in domain.codecs))


@frozen(kw_only=True, eq=False)
class SdvLearner:
    """A `sfumato.privacy.mechanisms.plain_training.Learner`: learns rows of codes."""

    codecs: tuple[Codec, ...]
    shares: tuple[npt.NDArray[np.float64], ...]
    method: str
    options: Mapping[str, Any]
    keep: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.keep, len(self.codecs))

    def describe(self) -> dict[str, Any]:
        options = {name: list(v) if isinstance(v, tuple) else v for name, v in self.options.items()}
        return {"what": f"SDV {CLASSES[self.method]}", "options": options, "rows": self.keep}

    def learn(self, codes: npt.NDArray[Any], report: Callable[[str], None]) -> npt.NDArray[np.int64]:
        check_installed(self.method)
        import pandas as pd

        single_table = importlib.import_module("sdv.single_table")
        metadata_of = importlib.import_module("sdv.metadata").Metadata.load_from_dict
        if not len(codes):
            raise JobError("SDV cannot be fitted to a table without rows", mend="leave backend out")
        columns, kinds = self._columns(codes, np.random.default_rng(0))
        metadata = metadata_of(
            {"tables": {"rows": {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}}}
        )
        report(f"SDV is fitted to {len(codes):,} rows")
        made = getattr(single_table, CLASSES[self.method])(metadata, **self.options)
        frame = pd.DataFrame(columns)
        # From version 2 on, tables come and go by name.
        named = int(version("sdv").partition(".")[0]) >= 2
        made.fit({"rows": frame} if named else frame)
        report(f"SDV draws {self.keep:,} rows")
        drawn = made.sample(self.keep)
        return self._codes(drawn["rows"] if named else drawn, np.random.default_rng(1))

    def _columns(
        self, codes: npt.NDArray[Any], rng: np.random.Generator
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """What SDV sees, under names that tell nothing, and its kinds."""
        columns: dict[str, Any] = {}
        kinds: dict[str, str] = {}
        for i, codec in enumerate(self.codecs):
            own = codes[:, i].astype(np.int64)
            if not isinstance(codec, GridCodec) or codec.cells <= FEW:
                columns[f"label{i}"], kinds[f"label{i}"] = self._texts(own), "categorical"
                continue
            atom = own < codec.atoms
            if atom.any():
                columns[f"label{i}"] = self._texts(np.where(atom, own, -1))
                kinds[f"label{i}"] = "categorical"
                # Where there is no number the column has one that is as likely as any.
                own = np.where(atom, self._any_cell(i, len(own), rng), own)
            low = codec.lows[own - codec.atoms]
            columns[f"number{i}"] = low + codec.widths[own - codec.atoms] * rng.random(len(own)) - 0.5
            kinds[f"number{i}"] = "numerical"
        return columns, kinds

    def _any_cell(self, place: int, rows: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        codec = self.codecs[place]
        assert isinstance(codec, GridCodec)
        weights = self.shares[place][codec.atoms :]
        weights = weights if weights.sum() > 0 else np.ones(codec.cells)
        return codec.atoms + rng.choice(codec.cells, size=rows, p=weights / weights.sum())

    @staticmethod
    def _texts(codes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return codes.astype(str).astype(object)

    def _codes(self, drawn: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Codes of the rows that SDV drew; one that a row cannot have is drawn anew by itself."""
        found = np.zeros((len(drawn), len(self.codecs)), np.int64)
        for i, codec in enumerate(self.codecs):
            numbers, texts = f"number{i}", f"label{i}"
            own = np.full(len(drawn), -1)
            if texts in drawn:
                own = np.array(drawn[texts].astype(int))
            if numbers in drawn and isinstance(codec, GridCodec):
                value = drawn[numbers].to_numpy(np.float64).clip(codec.edges[0], codec.edges[-1] - 1)
                cells = codec.cell_of(np.rint(value).astype(np.int64)) + codec.atoms
                own = np.where(own < 0, cells, own)
            wrong = np.flatnonzero(~codec.allowed[own])
            if wrong.size:
                own[wrong] = rng.choice(codec.size, size=wrong.size, p=self.shares[i])
            found[:, i] = own
        return found
