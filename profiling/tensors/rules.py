"""What an op did with memory, from its name, its recorded inputs and the ops inside it.

ATen's schemas say which ops view and which write; composite ops that may do either are judged by
what ran inside them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ptx.profiling.tensors.arguments import Arguments
from ptx.profiling.tensors.effect import UNKNOWN, Effect
from ptx.profiling.tensors.inputs import Tensor
from ptx.profiling.tensors.op_names import (
    ALWAYS_VIEWS,
    AS_LAST_INSIDE,
    COPYING,
    MAY_ALIAS,
    NO_TENSOR,
)
from ptx.profiling.tensors.out_variants import OUT_VARIANTS
from ptx.profiling.tensors.outputs import output_of, resized
from ptx.profiling.tensors.view_types import result_dtype
from ptx.profiling.tensors.views import VIEW_RULES, places_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ptx.profiling.tensors.ops import Op
    from ptx.profiling.tensors.reshape import Place


def effect_by_rule(op: Op) -> Effect | None:
    """Returns what an op did as names, inputs and inner ops tell, None if it returns no tensor."""
    name = op.name
    if not name:
        return _outside_aten(op)
    if name in NO_TENSOR:
        return None
    if name in OUT_VARIANTS.get(len(op.inputs), ()) and op.tensor(len(op.inputs) - 1) is not None:
        return _written_out(op)
    if name in ALWAYS_VIEWS:
        return _view(op)
    if name == "set_":
        return _set(op)
    if name == "resize_":
        return _resize(op)
    if name.endswith("_") and (not name.endswith("__") or name.startswith("__i")):
        return _in_place(op)
    if name in MAY_ALIAS:
        return _as_inside(op)
    return _copy(op) if name in COPYING else _new(op)


def _outside_aten(op: Op) -> Effect | None:
    """Returns the effect of an op of another library: only its name can tell, and a frame none."""
    space, _, name = op.full_name.rpartition("::")
    if not space or space.startswith(("autograd", "torch")):
        return None
    position = op.first_tensor()
    if name.endswith("_") and not name.endswith("__") and position is not None:
        return _written(op, position)
    return UNKNOWN if op.inputs else None


def _written(op: Op, position: int) -> Effect:
    item = op.inputs[position]
    return Effect(
        "in_place",
        position,
        item.tensor,
        item.tensor,
        written_bytes=_sum(t.touched_bytes for t in (*item.tensors, *_one(item.tensor))),
    )


def _written_out(op: Op) -> Effect:
    """Returns the effect of a call with `out=`: an empty tensor gets new memory."""
    position = len(op.inputs) - 1
    resizes = (inner for inner in op.children if inner.name == "resize_")
    grown = next((effect for effect in map(_resize, resizes) if effect.kind == "new"), None)
    after = None if grown is None else grown.after
    if grown is None and not _fills_nothing(op, position):
        return _written(op, position)
    return Effect("new", after=after, written_bytes=after.touched_bytes if after else None)


def _fills_nothing(op: Op, position: int) -> bool:
    """Returns whether a tensor of no elements is to take the result of some."""
    taken = [item.tensor for item in op.inputs[:position] if item.tensor is not None]
    out = op.tensor(position)
    return out is not None and out.numel == 0 and any(tensor.numel for tensor in taken)


def _in_place(op: Op) -> Effect:
    position = op.first_tensor()
    if position is None:
        return Effect("in_place", 0)
    if op.name.removesuffix("_") in VIEW_RULES:
        return replace(_view(op), kind="in_place")
    if op.name == "copy_":
        return replace(_written(op, 0), before=op.tensor(1))
    return _written(op, position)


def _resize(op: Op) -> Effect:
    """Returns what resize_ did: a tensor that grows gets memory of its own."""
    before, after = op.tensor(0), resized(op)
    grows = before is not None and after is not None and after.numel > before.numel
    if grows:
        return Effect("new", None, before, after, written_bytes=0)
    return Effect("in_place", 0, before, after, written_bytes=0)


def _set(op: Op) -> Effect:
    """Returns what set_ did: its first tensor takes the storage of its second argument."""
    source = op.tensor(1)
    if source is not None:  # by the name of an in-place op, though it becomes a view
        return Effect("in_place", 1, source, source, written_bytes=0)
    arguments = Arguments(op.inputs)
    shape, strides = arguments.numbers(3), arguments.numbers(4)
    old = op.tensor(0)
    after = None if old is None or shape is None else Tensor(old.dtype, shape, strides)
    return Effect("new", None, None, after, arguments.number(2), written_bytes=0)


def _view(op: Op) -> Effect:
    name = op.name.removesuffix("_")
    places, failed = _places(op, name)
    listed = len(op.inputs[0].tensors) if op.inputs else 0
    if places:
        strides = places[0].strides if _has_strides(op) else None
        after: Tensor | None = Tensor(result_dtype(name, op.inputs), places[0].shape, strides)
    else:
        after = _viewed_inside(op, listed)
    offset = _recorded_offset(op)
    return Effect(
        "view",
        op.first_tensor() or 0,
        _first(op),
        after,
        offset,
        places[0].shift if places and _shift_is_known(op, name, offset) else None,
        0,
        pieces=max(listed, 1) if places is None else len(places),
        failed=failed,
    )


def _places(op: Op, name: str) -> tuple[list[Place] | None, bool]:
    """Returns where the outputs lie, None if that is not known, and whether torch refused."""
    if name not in VIEW_RULES:
        return None, False
    try:
        return places_of(name, op.inputs), False
    except ValueError:  # a call that did go on shows as the ops inside it
        refused = not op.children or any(inner.failed for inner in _effects_inside(op))
        return None, refused and _has_strides(op)


def _has_strides(op: Op) -> bool:
    tensor = op.tensor(0)
    return tensor is not None and tensor.strides is not None


def _shift_is_known(op: Op, name: str, offset: int | None) -> bool:
    """Returns whether a rule tells the shift: as_strided is given an offset in the storage."""
    return _has_strides(op) and (name != "as_strided" or offset is None)


def _viewed_inside(op: Op, listed: int) -> Tensor | None:
    """Returns the first output as the views inside tell it; each `listed` tensor gives one."""
    views = [inner for inner in _effects_inside(op) if inner.kind == "view"]
    if not listed:
        return views[-1].after if views else None
    first = _first(op)
    for view in views:  # the views that lead on from the first tensor; its type is not recorded
        if first is not None and view.before is not None and view.after is not None:
            same = (view.before.shape, view.before.strides) == (first.shape, first.strides)
            first = view.after if same else first
    return first


def _recorded_offset(op: Op) -> int | None:
    """Returns the offset that as_strided was given, in this op or in the first one inside it."""
    for inner in (op, *op.inside()):
        if inner.name.removesuffix("_") == "as_strided":
            return Arguments(inner.inputs).number(3)
    return None


def _as_inside(op: Op) -> Effect:
    """Returns the effect of an op that may return its input, a view of it, or something new."""
    kinds = {effect.kind for effect in _effects_inside(op)}
    if kinds & {"copy", "new"}:
        return _copy(op) if op.name in COPYING else _new(op)
    if "view" in kinds:
        return _view(op)
    if _places(op, op.name)[1]:
        return _view(op)
    before = _first(op)
    return Effect("no_op", 0, before, before, written_bytes=0)


def _effects_inside(op: Op) -> list[Effect]:
    return [effect for effect in map(effect_by_rule, op.children) if effect is not None]


def _copy(op: Op) -> Effect:
    made = _new(op)
    return replace(made, kind="copy", of_input=0, before=op.tensor(0))


def _new(op: Op) -> Effect:
    after = output_of(op) or _made_inside(op)
    known = after.touched_bytes if after is not None else None
    return Effect("new", after=after, written_bytes=known)


def _made_inside(op: Op) -> Tensor | None:
    """Returns the output as the ops inside tell it: what was copied into, or the last result."""
    for inner in reversed(op.children):
        if inner.name == "copy_" and op.name in COPYING:
            return inner.tensor(0)
    if op.name in COPYING or op.name in AS_LAST_INSIDE:
        inside = _effects_inside(op)
        return inside[-1].after if inside else None
    return None


def _first(op: Op) -> Tensor | None:
    """Returns the first tensor of the inputs, which may stand in a list."""
    for item in op.inputs:
        for tensor in (*_one(item.tensor), *item.tensors):
            return tensor
    return None


def _one(tensor: Tensor | None) -> tuple[Tensor, ...]:
    return () if tensor is None else (tensor,)


def _sum(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
