"""What the panels make of rows: sums that hold, names, geometry, pieces of names, frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.idle import charge_idle
from ptx.profiling.analysis.roofline import roofline
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.explore import ExploreRows
from ptx.tui.state.forest import Layers
from ptx.tui.state.glyphs import UNICODE
from ptx.tui.state.panels import PANELS, Choice, Panel, Subject, make_panel
from ptx.tui.state.panels.source import is_foreign

if TYPE_CHECKING:
    from pathlib import Path

WIDE = 100


def rows_of(path: Path) -> ExploreRows:
    structure = build_structure(read_trace(path))
    step = None if structure.steps.source == "trace" else len(structure.steps) - 1
    rows = ExploreRows(structure, step, Layers(), UNICODE)
    rows.index.set_open_below(-1, True)
    return rows


def built(builder: TraceBuilder, folder: Path) -> ExploreRows:
    return rows_of(builder.write(folder / "t.json", "lines"))


@pytest.fixture(scope="module")
def geglu(samples: Path) -> ExploreRows:
    return rows_of(samples / "geglu_eager.json.gz")


@pytest.fixture(scope="module")
def training(samples: Path) -> ExploreRows:
    return rows_of(samples / "train_step_eager.json.gz")


def row_called(rows: ExploreRows, label: str) -> int:
    return next(k for k in range(len(rows.lens)) if rows.label(k).endswith(label))


def text_of(panel: Panel) -> list[str]:
    return [
        " ".join([line.row.label, *(cell.text for cell in line.row.cells)]).strip()
        for line in panel.lines
    ]


def layers_of_ops(durations: list[int], **args: object) -> TraceBuilder:
    """A module an op; each op launches a kernel of its own length in us, 1 ms apart."""
    builder = trace().thread(1).step(1, 0, 1000 * (len(durations) + 1))
    for k, duration in enumerate(durations):
        at = 1000 * k + 10
        builder.frame(f"nn.Module: Layer_{k}", at, 900).frame("model.py(7): forward", at + 1, 890)
        builder.op("aten::mm", at + 10, 200, **args)
        builder.runtime("cudaLaunchKernel", at + 20, 5, correlation=k + 1)
        builder.kernel("gemm_kernel", at + 100, duration, correlation=k + 1)
    return builder


# --- which ------------------------------------------------------------------------------------


def test_each_kind_of_row_has_its_first_panel(geglu: ExploreRows) -> None:
    shown = {
        label: Choice().shown(geglu, row_called(geglu, label), two=True)
        for label in ("ProfilerStep#5", "› linear", "transpose", "gelu")  # noqa: RUF001
    }
    assert list(shown.values()) == [
        ("kernels", ("kernels", "host")),
        ("kernels", ("kernels", "host")),
        ("host", ("host", "source")),
        ("tensors", ("tensors", "decode")),
    ]


def test_an_op_without_recorded_inputs_starts_with_its_kernel_name(tmp_path: Path) -> None:
    rows = built(layers_of_ops([100]), tmp_path)
    row = row_called(rows, "mm")
    assert Choice().shown(rows, row, two=True) == ("decode", ("kernels", "decode"))


def test_a_chosen_panel_without_an_answer_gives_way_and_comes_back(geglu: ExploreRows) -> None:
    choice, op, view = Choice(), row_called(geglu, "gelu"), row_called(geglu, "transpose")
    choice.choose("decode", geglu, op)
    assert [choice.shown(geglu, row, two=False)[0] for row in (op, view, op)] == [
        "decode",
        "host",
        "decode",
    ]
    choice.choose("tensors", geglu, 0)
    assert choice.shown(geglu, 0, two=False)[0] == "tensors"


@pytest.mark.parametrize("name", PANELS)
def test_no_row_has_an_empty_panel(geglu: ExploreRows, name: str) -> None:
    panel = make_panel(name, geglu, -1, WIDE)
    assert not panel.lines
    assert panel.title() == "no row here"


# --- host -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["geglu_eager", "train_step_eager", "linear_compile"])
def test_the_host_panel_of_every_row_sums_to_its_idle_time(samples: Path, name: str) -> None:
    rows = rows_of(samples / f"{name}.json.gz")
    charge = charge_idle(rows.structure)
    assert charge is not None
    for row in range(len(rows.lens)):
        if rows.is_step_row(row):
            continue  # what ran before the step's first event is charged to nobody
        subject = Subject(rows, row)
        assert int(charge.own_ns[subject.nodes].sum()) == rows.lens.totals.idle_ns[row]


def test_the_host_panel_tells_the_spread_of_instances(tmp_path: Path) -> None:
    rows = built(layers_of_ops([100, 100, 400]), tmp_path)
    panel = make_panel("host", rows, row_called(rows, "3x Layer › mm"), WIDE)  # noqa: RUF001
    assert panel.title().startswith("GPU idle 2.10ms, host in: ")
    first = panel.lines[0]
    assert first.row.label == "3 instances, GPU + idle of each 900us to 900us"
    assert len(first.nodes) == 3


def test_the_costliest_instance_comes_first(tmp_path: Path) -> None:
    rows = built(layers_of_ops([100, 850, 100]), tmp_path)
    line = make_panel("host", rows, row_called(rows, "3x Layer › mm"), WIDE).lines[0]  # noqa: RUF001
    tree, table = rows.structure.tree, rows.structure.trace.table
    assert table.name_of(int(tree.event[line.nodes[0]])) == "nn.Module: Layer_1"
    assert line.row.label.endswith("900us to 950us")


def test_without_a_device_the_host_panel_counts_cpu_time(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000)
    builder.op("aten::sort", 10, 900).op("aten::copy_", 20, 300).op("aten::copy_", 400, 200)
    rows = built(builder, tmp_path)
    panel = make_panel("host", rows, 0, WIDE)
    assert panel.title() == "CPU time 1.00ms: op 900us 90%  Python 100us 10%"
    assert text_of(panel)[:2] == ["op          copy_ 2 500us 50%", "op          sort 1 400us 40%"]


def test_idle_time_without_an_event_is_said(tmp_path: Path) -> None:
    builder = trace().annotation("ProfilerStep#1", 0, 1000)
    builder.thread(2).op("aten::mm", 10, 15)
    builder.runtime("cudaLaunchKernel", 12, 5, correlation=1)
    builder.kernel("gemm", 100, 500, correlation=1)
    rows = built(builder, tmp_path)
    panel = make_panel("host", rows, 0, WIDE)
    assert panel.title().startswith("GPU idle 500us")
    assert sum(int(w.nodes.size > 0) for w in panel.lines) >= 1


# --- kernels ----------------------------------------------------------------------------------


def test_kernels_of_instances_tell_least_median_and_most(tmp_path: Path) -> None:
    rows = built(layers_of_ops([100, 300, 200]), tmp_path)
    panel = make_panel("kernels", rows, row_called(rows, "3x Layer › mm"), WIDE)  # noqa: RUF001
    assert panel.title() == "3x 100us/200us/300us (min/median/max)"
    assert [len(line.nodes) for line in panel.lines] == [3]
    kinds = rows.structure.tree.kind[panel.lines[0].nodes]
    assert (kinds == NodeKind.LAUNCH).all()


# --- tensors ----------------------------------------------------------------------------------


MM = {
    "Input_Dims": [[64, 32], [32, 16]],
    "Input_Strides": [[32, 1], [1, 32]],
    "Input_type": ["c10::BFloat16", "c10::BFloat16"],
}


def test_tensors_have_names_geometry_layout_and_bytes(tmp_path: Path) -> None:
    rows = built(layers_of_ops([100], **MM), tmp_path)
    panel = make_panel("tensors", rows, row_called(rows, "mm"), WIDE)
    assert panel.title() == "aten::mm"
    assert text_of(panel) == [
        "in0 self bf16 [64,32] contiguous 4.10kB",
        "in1 mat2 bf16 [32,16] transposed (1,32) 1.02kB",
        "out bf16 [64,16] contiguous 2.05kB",
        "modelled bytes: being worked out",
        "why tn: in1 is a view with strides (1,32)",
    ]


def test_rates_follow_once_the_bytes_of_the_trace_are_modelled(tmp_path: Path) -> None:
    rows = built(layers_of_ops([100], **MM), tmp_path)
    roofline(rows.structure)
    panel = make_panel("tensors", rows, row_called(rows, "mm"), WIDE)
    moved_kb = 2 * (64 * 32 + 32 * 16 + 64 * 16) / 1e3
    [line] = [line for line in text_of(panel) if line.startswith("modelled")]
    assert line.startswith(f"modelled {moved_kb:.2f}kB, 0.00 GFLOP: ")
    assert f"{moved_kb * 1e3 / 100_000:.2f} GB/s" in line  # bytes a ns, of a kernel of 100 us


@pytest.mark.parametrize("width", [30, 44, 60, 120])
def test_columns_of_tensors_fit_and_bytes_give_way(tmp_path: Path, width: int) -> None:
    rows = built(layers_of_ops([100], **MM), tmp_path)
    columns = make_panel("tensors", rows, row_called(rows, "mm"), width).columns(width)
    assert len(columns) == (3 if width >= 60 else 2)
    assert 2 + len("in1 mat2") + sum(c.width + 1 for c in columns) <= max(width, 30)


def test_instances_with_other_shapes_are_said(tmp_path: Path) -> None:
    builder = layers_of_ops([100, 100, 100], **MM)
    last = next(e for e in reversed(builder.events) if e["name"] == "aten::mm")
    last["args"] = {**last["args"], "Input Dims": [[8, 32], [32, 16]]}
    rows = built(builder, tmp_path)
    panel = make_panel("tensors", rows, row_called(rows, "3x Layer › mm"), WIDE)  # noqa: RUF001
    assert panel.title() == "aten::mm, first of 3 with 2 different inputs"


def test_lists_scalars_and_unnamed_arguments_are_shown(tmp_path: Path) -> None:
    args = {
        "Input_Dims": [[[4, 4]] * 6, [], [2]],
        "Input_Strides": [[[4, 1]] * 6, [], [1]],
        "Input_type": ["TensorList", "Scalar", "float"],
        "Concrete_Inputs": ["", "[3]", ""],
    }
    builder = trace().thread(1).step(1, 0, 1000).op("mine::op[red]", 10, 900, **args)
    rows = built(builder, tmp_path)
    text = text_of(make_panel("tensors", rows, row_called(rows, "op[red]"), WIDE))
    assert text[0] == "in0 6 tensors"
    assert text[1].startswith("0 [4,4] contiguous")
    assert text[5] == "… 2 more"
    assert text[6].startswith("in2 f32 [2] contiguous 8B")
    assert text[7] == "in1=[3]"


def test_a_view_says_what_it_did(geglu: ExploreRows) -> None:
    text = text_of(make_panel("tensors", geglu, row_called(geglu, "transpose"), WIDE))
    assert text[1] == "dim0=0, dim1=1"
    assert text[2].startswith("view of input 0 (no kernel): (3072,768) [768,1] -> [1,768]")


# --- decode -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 59, 78, 118])
def test_every_meaning_is_there_whole_at_every_width(geglu: ExploreRows, width: int) -> None:
    panel = make_panel("decode", geglu, row_called(geglu, "gelu"), width)
    label = " ".join(" ".join(line.row.label for line in panel.lines).split())
    for meaning in ("launch template", "8 elements a load", "the operator", "data type bf16"):
        assert meaning in label
    matmul = make_panel("decode", geglu, row_called(geglu, "addmm"), width)
    pieces = [line.row.label for line in matmul.lines if not line.copied]
    assert max(map(len, pieces)) <= width - 2
    assert "where A is torch's second operand" in " ".join(" ".join(pieces).split())


def test_a_wide_panel_has_two_pieces_a_line(geglu: ExploreRows) -> None:
    row = row_called(geglu, "addmm")
    narrow, wide = (len(make_panel("decode", geglu, row, width).lines) for width in (60, 80))
    assert wide < narrow


def test_letters_of_the_name_stand_beside_the_predicted_ones(geglu: ExploreRows) -> None:
    rows = [row_called(geglu, "addmm"), row_called(geglu, "gelu")]
    titles = [make_panel("decode", geglu, row, WIDE).title() for row in rows]
    assert titles == ["tn = tn agree", "what the kernel's name says"]


def test_the_whole_kernel_name_is_copied(geglu: ExploreRows) -> None:
    line = make_panel("decode", geglu, row_called(geglu, "gelu"), WIDE).lines[0]
    assert line.copied.startswith("void at::native::vectorized_elementwise_kernel<8")


# --- source -----------------------------------------------------------------------------------


def test_frames_stand_innermost_first_with_others_counted(geglu: ExploreRows) -> None:
    panel = make_panel("source", geglu, row_called(geglu, "Linear_0 › linear"), WIDE)  # noqa: RUF001
    text = text_of(panel)
    assert text[:3] == [
        "modules  GeGLU_0 › Linear_0",  # noqa: RUF001
        "… 3 torch and built-in frames",
        "sample_traces/programs.py:80 in forward()",
    ]
    assert panel.start == 2
    assert panel.lines[2].copied == "sample_traces/programs.py:80"


def test_a_backward_op_shows_where_its_forward_was_called(training: ExploreRows) -> None:
    text = text_of(make_panel("source", training, row_called(training, "threshold_backward"), WIDE))
    assert text[0] == "backward of relu, which was called from"
    assert text[1] == "modules  Sequential_0 › ReLU_0"  # noqa: RUF001
    assert any(line.startswith("sample_traces/programs.py:") for line in text)


@pytest.mark.parametrize(
    ("path", "foreign"),
    [
        ("torch/nn/modules/linear.py", True),
        ("/usr/lib/python3.11/site-packages/torch/utils/data.py", True),
        ("/usr/lib/python3.11/contextlib.py", True),
        ("contextlib.py", True),
        ("concurrent/futures/thread.py", True),
        ("<string>", True),
        ("<frozen importlib._bootstrap>", True),
        ("triton/runtime/jit.py", True),
        ("train.py", False),
        ("/home/me/torch_models/train.py", False),
        ("transformers/models/llama/modeling_llama.py", False),
        ("/usr/lib/python3.11/site-packages/transformers/models/x.py", False),
        ("C:\\me\\train.py", False),
        ("", False),
    ],
)
def test_torch_and_the_standard_library_are_foreign(path: str, foreign: bool) -> None:
    assert is_foreign(path) is foreign


# --- info -------------------------------------------------------------------------------------


def test_info_names_partners_thread_and_queue_delay(training: ExploreRows) -> None:
    row = row_called(training, "threshold_backward")
    panel = make_panel("info", training, row, WIDE)
    text = text_of(panel)
    assert any(line.startswith("forward op aten::relu") for line in text)
    assert any("pt_autograd_0" in line for line in text)
    assert any(line.startswith("queue delay") for line in text)
    to = next(line for line in panel.lines if line.row.label == "forward op").nodes
    back = training.lens.row_of_node(training.structure, int(to[0]))
    partners = next(
        line.nodes
        for line in make_panel("info", training, back, WIDE).lines
        if line.row.label == "backward op"
    )
    shown = {training.lens.row_of_node(training.structure, int(k)) for k in partners}
    assert row in shown


@pytest.mark.parametrize("name", PANELS)
def test_every_panel_of_every_row_can_be_made(training: ExploreRows, name: str) -> None:
    for row in range(len(training.lens)):
        for width in (38, 78):
            panel = make_panel(name, training, row, width)
            columns = panel.columns(width)
            assert panel.title()
            for k, line in enumerate(panel.lines):
                assert len(panel.row(k, columns).cells) in (0, len(columns))
                assert (np.asarray(line.nodes) >= 0).all()
