"""The shapes of every op's inputs as one short text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.tensors.inputs import inputs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.inputs import Input, Tensor

# strides and values would set calls of one shape apart
_MEMBERS = ("Input Dims", "Input dims", "Input type")


@once_per_trace
def shape_codes(structure: Structure) -> tuple[NDArray[np.int64], list[str]]:
    """Returns (a code for each event, the text of each code) from one pass over the file.

    An event without recorded inputs has the code `len(texts)`.
    """
    records = structure.trace.args.records(_MEMBERS, len(structure.trace.table))
    texts: dict[str, int] = {}
    code = [texts.setdefault(_text_of(record), len(texts)) for record in records.texts]
    # the last entry stands for the code of no record, which is -1
    return np.array([*code, len(texts)], np.int64)[records.code], list(texts)


def shape_text(inputs: Sequence[Input]) -> str:
    """Returns tensors as `bf16[64,1024]`, lists of them by their number; values are left out."""
    return " ".join(_parts(inputs))


def _text_of(record: Sequence[bytes]) -> str:
    found = zip(_MEMBERS, record, strict=True)
    return shape_text(inputs_of({key: _loaded(text) for key, text in found if text}))


def _loaded(text: bytes) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # lone surrogates
        return None


def _parts(inputs: Sequence[Input]) -> Iterator[str]:
    for given in inputs:
        if given.tensor is not None:
            yield _tensor(given.tensor)
        elif given.kind == "tensor_list":
            shapes = list(dict.fromkeys(map(_tensor, given.tensors)))
            same = shapes[0] if len(shapes) == 1 else "tensors"
            yield f"{len(given.tensors)} x {same}"


def _tensor(tensor: Tensor) -> str:
    return f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"
