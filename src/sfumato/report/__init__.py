"""Reports: one HTML page each, which needs no network, no other file and no account.

internal      an evaluation, with plots; contains private data and is stamped so
publishable   a model alone: guarantee, ledger, noise, expected error

words, headlines, guarantees, pictures, figures    facts as sentences, cards, tables and paths
page, templates/                                   from there to HTML, every value escaped
places                                             where an internal page may not go
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.attacks.ceiling import Guarantee
    from sfumato.evaluation.evaluation import Evaluation
    from sfumato.models.model import Model


def internal_html(evaluation: Evaluation, **options: Any) -> str:
    """The internal page of an evaluation; `options` are those of `write_internal`, less the place."""
    from sfumato.report.internal import internal_page
    from sfumato.report.page import render

    return render(internal_page(evaluation, **options))


def publishable_html(model: Model, *, title: str = "") -> str:
    """The publishable page of a model."""
    from sfumato.report.page import render
    from sfumato.report.publishable import publishable_page

    return render(publishable_page(model, title=title))


def write_internal(
    evaluation: Evaluation,
    path: str | Path,
    *,
    model: Model | str | Path | None = None,
    guarantee: Guarantee | None = None,
    force: bool = False,
    synthetic: object = None,
    private: tuple[object, ...] = (),
    **options: Any,
) -> None:
    """Write the internal page of an evaluation, readable by its owner alone.

    `model`: states the guarantee, and foretells other budgets; else `guarantee` says what is stated.
    `force`: replace an existing file, and write into the folder of a release. `synthetic`, `private`: paths
    of the synthetic and of the real tables, where known. Raises OutputError when it must not or cannot be
    written there.
    """
    from sfumato.report.places import check_not_released
    from sfumato.tables.output import atomic_file, check_output

    check_output(path, force=force)
    if not force:
        check_not_released(path, synthetic=synthetic, private=private)
    if isinstance(model, str | Path):
        from sfumato.models.file import load

        model = load(model)
    text = internal_html(evaluation, model=model, guarantee=guarantee, **options)
    with atomic_file(path, force=force, mode=0o600) as stream:
        stream.write(text.encode("utf-8"))


def write_publishable(
    model: Model | str | Path, path: str | Path, *, title: str = "", force: bool = False
) -> None:
    """Write the publishable page of a model or model file. `force`: replace an existing file."""
    from sfumato.tables.output import atomic_file

    if isinstance(model, str | Path):
        from sfumato.models.file import load

        model = load(model)
    text = publishable_html(model, title=title)
    with atomic_file(path, force=force) as stream:
        stream.write(text.encode("utf-8"))
