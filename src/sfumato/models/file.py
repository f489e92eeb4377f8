"""Model files: one safetensors file, arrays beside a manifest of JSON. No pickle, no archive, no code.

    manifest     format, version, method, options, request, schema, storage of columns, codecs, generator,
                 ledger, labels of the transcript, statement, notes, warnings
    answer/I/J   array J of released answer I (int64)
    model/NAME   numbers of the generator

A reader checks the header before anything is allocated, refuses unknown fields, checks the hash chain,
and finds everything finite and of the right shape, or raises ModelFormatError; there are no half-read
models.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from sfumato import __version__
from sfumato.domain.codecs import codec_from_state
from sfumato.domain.stored import Stored
from sfumato.errors import ModelFormatError
from sfumato.models.model import Model
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms.base import Answer
from sfumato.schema import read_schema
from sfumato.synthesizers.recipe import generators
from sfumato.tables.output import atomic_file, check_output

FORMAT, VERSION = "sfumato-model", 1
HEADER_AT_MOST = 64 << 20
TENSORS_AT_MOST = 100_000
FIELDS = {
    "format", "version", "library", "method", "options", "request", "schema", "stored", "codecs", "generator",
    "ledger", "labels", "statement", "notes", "warnings", "void",
}  # fmt: skip
ENTRY = {"dtype", "shape", "data_offsets"}
REQUEST = {"epsilon", "delta", "accountant", "thresholds", "decimal", "split", "schema"}


def manifest(model: Model) -> dict[str, Any]:
    """Everything of a model that is not an array."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        "method": model.method,
        "options": model.options,
        "request": model.request,
        "schema": model.schema.to_dict(),
        "stored": [attrs.asdict(column) for column in model.stored],
        "codecs": [codec.state() for codec in model.codecs],
        "generator": model.generator.kind,
        "ledger": model.ledger.state(),
        "labels": [[list(texts) for texts in answer.labels] for answer in model.transcript],
        "statement": model.statement.state(),
        "notes": list(model.notes),
        "warnings": list(model.warnings),
        "void": model.void,
    }


def save(model: Model, path: str | Path, *, force: bool = False) -> None:
    """Write `model` to `path`: a temporary file, flushed, then renamed."""
    from safetensors.numpy import save as to_bytes

    check_output(path, force=force)
    tensors = {
        f"answer/{i}/{j}": np.ascontiguousarray(array)
        for i, answer in enumerate(model.transcript)
        for j, array in enumerate(answer.arrays)
    }
    tensors.update({f"model/{k}": np.ascontiguousarray(v) for k, v in model.generator.arrays().items()})
    # Not sorted: the order of columns is a fact.
    text = json.dumps(manifest(model), ensure_ascii=True, allow_nan=False)
    with atomic_file(path, force=force) as stream:
        stream.write(to_bytes(tensors, metadata={"manifest": text}))


def load(path: str | Path) -> Model:
    """Read a model file; ModelFormatError says what is wrong with it."""
    path = Path(path)
    try:
        return _load(path)
    except ModelFormatError as error:
        raise ModelFormatError(f"{path.name}: {error.message}", mend=error.mend) from None
    except Exception:  # the file may come from anybody
        raise ModelFormatError(f"{path.name}: the model file is damaged or was altered") from None


def is_whole(path: str | Path) -> bool:
    """Whether a file has the form of a model file, whatever its contents say."""
    from safetensors.numpy import load as from_bytes

    try:
        content = _read(Path(path))
        from_bytes(content)
        size = int.from_bytes(content[:8], "little")
        header = _strict_json(content[8 : 8 + size].decode("utf-8"))
        facts = _strict_json(header["__metadata__"]["manifest"])
        return (facts["format"], facts["version"]) == (FORMAT, VERSION)
    except Exception:  # the file may come from anybody
        return False


def _load(path: Path) -> Model:
    from safetensors.numpy import load as from_bytes

    content = _read(path)
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > HEADER_AT_MOST or size > len(content) - 8:
        raise ModelFormatError("this is not a model file, or it is cut short")
    header = _strict_json(content[8 : 8 + size].decode("utf-8"))
    if len(header) > TENSORS_AT_MOST:
        raise ModelFormatError("the file lists too many arrays")
    metadata = header.pop("__metadata__", {})
    if set(metadata) != {"manifest"} or any(set(each) != ENTRY for each in header.values()):
        raise ModelFormatError("the header has unexpected or missing fields")
    facts = _strict_json(metadata["manifest"])
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ModelFormatError("this is not a model file of sfumato")
    if facts.get("version") != VERSION:
        raise ModelFormatError(
            f"the file has version {facts.get('version')!r}; this library reads version {VERSION}",
            mend="use the version of sfumato that wrote it",
        )
    if set(facts) != FIELDS:
        odd = ", ".join(sorted(set(facts) ^ FIELDS))
        raise ModelFormatError(f"the manifest has unexpected or missing fields: {odd}")
    try:
        tensors = from_bytes(content)
    except Exception:
        raise ModelFormatError("the arrays are damaged") from None
    for name, array in tensors.items():
        if array.dtype.kind not in "iufb" or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            raise ModelFormatError(f"array {name!r} holds something else than finite numbers")
    ledger = Ledger.from_state(facts["ledger"])
    return _assemble(facts, tensors, ledger)


def _assemble(facts: dict[str, Any], tensors: dict[str, np.ndarray[Any, Any]], ledger: Ledger) -> Model:
    _check_words(facts)
    codecs = tuple(codec_from_state(state) for state in facts["codecs"])
    answers = []
    if len(facts["labels"]) != len(ledger):
        raise ModelFormatError("the transcript and the ledger have different lengths")
    for i, labels in enumerate(facts["labels"]):
        arrays = []
        while f"answer/{i}/{len(arrays)}" in tensors:
            array = tensors.pop(f"answer/{i}/{len(arrays)}")
            if array.dtype != np.int64:
                raise ModelFormatError(f"answer {i} is not made of 64-bit integers")
            arrays.append(array)
        answers.append(Answer(arrays=tuple(arrays), labels=tuple(tuple(texts) for texts in labels)))
    inner = {name.removeprefix("model/"): tensors[name] for name in tensors if name.startswith("model/")}
    if len(inner) != len(tensors):
        raise ModelFormatError("the file holds arrays that belong to no part of a model")
    drawn = generators[facts["generator"]].from_arrays(tuple(codec.size for codec in codecs), inner)
    again = drawn.arrays()
    if again.keys() != inner.keys() or not all(np.array_equal(again[key], inner[key]) for key in again):
        raise ModelFormatError("the file holds arrays that belong to no part of a model")
    model = Model(
        method=facts["method"],
        options=facts["options"],
        schema=read_schema(facts["schema"]),
        stored=tuple(Stored(**column) for column in facts["stored"]),
        codecs=codecs,
        generator=drawn,
        ledger=ledger,
        transcript=tuple(answers),
        request=facts["request"],
        notes=tuple(facts["notes"]),
        warnings=tuple(facts["warnings"]),
        void=facts["void"],
    )
    if model.statement.state() != facts["statement"]:
        raise ModelFormatError("the stated guarantee is not what the ledger adds up to")
    if _text({**manifest(model), "library": facts["library"]}) != _text(facts):
        raise ModelFormatError("the manifest holds more than a model needs")
    return model


def _text(facts: dict[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True)


def _check_words(facts: dict[str, Any]) -> None:
    """What no other part of a model looks at closely."""
    words = [facts[name] for name in ("library", "method", "generator", "void")]
    words += facts["notes"] + facts["warnings"]
    request = facts["request"]
    if not all(isinstance(word, str) for word in words):
        raise ModelFormatError("a text of the manifest is something else")
    if set(request) != REQUEST or request["decimal"] not in (".", ","):
        raise ModelFormatError("the request has unexpected or missing fields")


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise ModelFormatError("there is no such file" if not path.exists() else "this is not a regular file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFormatError(f"the file cannot be read ({error.strerror})") from None


def _strict_json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ModelFormatError("a field occurs twice")
        return found

    def refuse(word: str) -> Any:
        raise ModelFormatError(f"{word} is not a number")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
