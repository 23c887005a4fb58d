"""The Tensors panel: what an op was given, and what it did with memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.execution_traces import execution_trace_of
from ptx.profiling.analysis.roofline import rates_of, roofline
from ptx.profiling.report.units import format_bytes, format_count, format_number
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.chains import views_before
from ptx.profiling.tensors.effect import geometry
from ptx.profiling.tensors.effects import effect_of
from ptx.profiling.tensors.gemm import gemm_of
from ptx.profiling.tensors.inputs import inputs_at
from ptx.profiling.tensors.layouts import layout_of
from ptx.profiling.tensors.ops import base_name
from ptx.profiling.tensors.vectorised import why_not_vectorised
from ptx.tui.state.panels.arguments import ARGUMENT_NAMES
from ptx.tui.state.panels.panel import Panel, PanelLine, wrapped
from ptx.tui.state.rows import Cell, Column, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptx.profiling.tensors.inputs import Input, Tensor
    from ptx.tui.state.panels.panel import Subject

_MOST_COMPARED = 32  # instances whose inputs are read to say whether their shapes agree
_MOST_OF_A_LIST = 4
_LONGEST_VALUE = 200
_LONGEST_NAME = 20
_BYTES = 7
_ALL = 0.995  # of the GPU time, so that a memset does not make a footnote
_PLAIN = ("contiguous", "scalar", "not recorded")


class _Tensors(Panel):
    """Lines of a name, geometry, layout and bytes in columns that fit what they hold."""

    def __init__(self, title: str, lines: list[PanelLine], width: int) -> None:
        super().__init__(title, _fitting([line.row for line in lines], width), lines)

    def columns(self, width: int) -> Sequence[Column]:
        """Returns the columns that were made for the panel's width."""
        return self._columns


def _fitting(rows: list[Row], width: int) -> list[Column]:
    """Returns the columns of geometry, layout and bytes; bytes give way first, then layouts."""
    tensors = [row for row in rows if row.cells]
    name = min(_LONGEST_NAME, max((len(row.label) for row in tensors), default=0))
    geometry, layout = (
        max((len(row.cells[k].text) for row in tensors), default=0) for k in range(2)
    )
    room = width - name - 4  # the cursor's sign and a blank in front of each column
    with_bytes = room >= geometry + layout + _BYTES + 1
    room -= _BYTES + 1 if with_bytes else 0
    geometry = max(8, min(geometry, room - min(layout, 10)))
    columns = [
        Column("", geometry, left=True, cut="middle"),
        Column("", max(8, room - geometry), left=True, cut="middle"),
    ]
    return [*columns, Column("", _BYTES)] if with_bytes else columns


def has_inputs(subject: Subject) -> bool:
    """Returns whether the inputs of the row's op are recorded."""
    return subject.kind is NodeKind.OP and bool(inputs_at(subject.structure, subject.inner))


def tensor_panel(subject: Subject, width: int) -> Panel:
    """Returns the inputs of the row's op, its output where it is known, and its effect.

    Args:
        subject: the row.
        width: of the panel, to which texts are broken.
    """
    if subject.kind is not NodeKind.OP:
        return Panel("no tensors here: they are recorded of ops alone", (), [])
    inputs = inputs_at(subject.structure, subject.inner)
    if not inputs and not subject.structure.trace.header.flag("record_shapes"):
        return Panel("recorded without shapes: record_shapes=True", (), [])
    lines = [
        *_input_lines(subject, inputs),
        *_effect_lines(subject, width),
        *_chain_lines(subject, inputs, width),
        *_rate_lines(subject, width),
        *_why_lines(subject, inputs, width),
    ]
    return _Tensors(clean(_title(subject, inputs)), lines, width)


def _title(subject: Subject, inputs: tuple[Input, ...]) -> str:
    title = subject.op_name
    if not inputs:
        title += ": no inputs"
    if subject.count > 1:
        nodes = subject.rows.lens.inner_nodes(subject.row)
        title += f", first of {format_count(len(nodes))}"
        if len(nodes) <= _MOST_COMPARED:
            kinds = len({inputs_at(subject.structure, node) for node in nodes.tolist()})
            title += f" with {kinds} different inputs" if kinds > 1 else " with equal inputs"
    return title


def _input_lines(subject: Subject, inputs: tuple[Input, ...]) -> Iterator[PanelLine]:
    names = ARGUMENT_NAMES.get(base_name(subject.op_name), ())
    for k, item in enumerate(inputs):
        label = f"in{k} {names[k]}" if k < len(names) else f"in{k}"
        if item.tensor is not None:
            yield _tensor_line(label, item.tensor)
        elif item.kind == "tensor_list":
            yield from _list_lines(label, item.tensors, subject.rows.glyphs.ellipsis)
    values = [
        f"{names[k] if k < len(names) else f'in{k}'}={item.value[:_LONGEST_VALUE]}"
        for k, item in enumerate(inputs)
        if item.kind == "scalar" and item.value
    ]
    if values:
        yield PanelLine(Row(clean(", ".join(values)), role="dim"))


def _list_lines(label: str, tensors: tuple[Tensor, ...], ellipsis: str) -> Iterator[PanelLine]:
    sizes = [tensor.nbytes for tensor in tensors]
    known = [size for size in sizes if size is not None]
    whole = format_bytes(sum(known)) if len(known) == len(sizes) else ""
    count = Cell(f"{format_count(len(tensors))} tensor{'' if len(tensors) == 1 else 's'}")
    yield PanelLine(Row(label, (count, Cell(""), Cell(whole))))
    for k, tensor in enumerate(tensors[:_MOST_OF_A_LIST]):
        yield _tensor_line(f"  {k}", tensor)
    if len(tensors) > _MOST_OF_A_LIST:
        left = format_count(len(tensors) - _MOST_OF_A_LIST)
        yield PanelLine(Row(f"  {ellipsis} {left} more", role="dim"))


def _tensor_line(label: str, tensor: Tensor) -> PanelLine:
    geometry = f"{tensor.dtype} {_numbers(tensor.shape, '[]')}".strip()
    layout = layout_of(tensor)
    word = layout if layout in _PLAIN else f"{layout} {_numbers(tensor.strides or (), '()')}"
    size = "" if tensor.nbytes is None else format_bytes(tensor.nbytes)
    cells = (Cell(clean(geometry)), Cell(word, "normal" if layout in _PLAIN else "strong"))
    return PanelLine(Row(clean(label), (*cells, Cell(size))))


def _numbers(numbers: Sequence[int], brackets: str) -> str:
    return f"{brackets[0]}{','.join(map(str, numbers))}{brackets[1]}"


def _chain_lines(subject: Subject, inputs: tuple[Input, ...], width: int) -> Iterator[PanelLine]:
    """Yields for each input that views led to: the tensor they began with, and their names."""
    structure, join = subject.structure, f" {subject.rows.glyphs.join} "
    et = execution_trace_of(structure)
    for position, item in enumerate(inputs):
        if item.tensor is None:
            continue
        steps = views_before(structure, subject.inner, position, et)
        if not steps or steps[0].effect.before is None:
            continue
        events = structure.tree.event[[step.node for step in steps]].tolist()
        names = [base_name(structure.trace.table.name_of(event)) for event in events]
        begin = geometry(steps[0].effect.before)
        text = f"in{position} is a view, no kernel: {join.join([begin, *names])}"
        yield from wrapped(clean(text), width)


def _rate_lines(subject: Subject, width: int) -> list[PanelLine]:
    """Returns what the row's kernels moved and computed by the model, and how fast."""
    structure = subject.structure
    if not len(subject.activities):
        return []
    if roofline.if_known(structure) is None:
        return [PanelLine(Row("modelled bytes: being worked out", role="dim"))]
    rates = rates_of(structure, subject.activities)
    if rates is None:
        return [PanelLine(Row("bytes not modelled", role="dim"))]
    parts = [format_bytes(rates.moved_bytes)] if rates.known_share else []
    speeds = [f"{format_number(rates.gbps)} GB/s"] if rates.known_share else []
    if rates.flops:
        parts.append(f"{format_number(rates.flops / 1e9)} GFLOP")
        speeds.append(f"{format_number(rates.tflops)} TFLOP/s")
    bound = f", bound by {rates.bound}" if rates.bound else ""
    text = f"modelled {', '.join(parts)}: {', '.join(speeds)}{bound}"
    if 0 < rates.known_share < _ALL:
        text += f" (bytes of {rates.known_share:.0%} of its GPU time)"
    return wrapped(text, width)


def _why_lines(subject: Subject, inputs: tuple[Input, ...], width: int) -> list[PanelLine]:
    """Returns what the inputs' strides make of the row's costliest kernel."""
    if not subject.kinds:
        return []
    gemm = gemm_of(subject.op_name, inputs)
    if gemm is not None:
        return wrapped(f"why {' or '.join(sorted(gemm.layouts))}: {gemm.reason}", width)
    reason = why_not_vectorised(inputs, subject.kinds[0].name)
    return [] if reason is None else wrapped(f"why not vectorised: {clean(reason)}", width)


def _effect_lines(subject: Subject, width: int) -> list[PanelLine]:
    et = execution_trace_of(subject.structure)
    effect = effect_of(subject.structure, subject.inner, et)
    if effect is None or effect.kind == "unknown":
        return []
    if effect.kind == "new" and effect.after is not None:
        return [_tensor_line("out", effect.after)]
    if effect.kind == "new" and effect.written_bytes is None:
        return []  # that most ops make something is no news
    certainty = "" if effect.certainty == "unknown" else f", {effect.certainty}"
    return wrapped(clean(f"{effect.text()}{certainty}"), width)
