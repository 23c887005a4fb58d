from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import trace

from ptx.profiling.analysis.counters import join_counters, read_counters
from ptx.profiling.errors import PtxError
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.traces import TraceBuilder

    from ptx.profiling.analysis.counters import Measured

ADD = "void at::{}vectorized_elementwise_kernel<8, at::{}CUDAFunctor_add<float>, A>(int, T2, T3)"
GELU = (
    "void at::{}vectorized_elementwise_kernel<4, at::{}GeluCUDAKernelImpl(at::TensorIteratorBase &)"
    "::[lambda() (instance 2)]::operator ()() const::[lambda(float) (instance 1)], A>(int, T2, T3)"
)
IN_TRACE, IN_COUNTERS = ("native::", "native::"), ("", "")
HEADER = '"ID","Kernel Name","Block Size","Grid Size","{}","{}"'
READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"


def raw(*kernels: tuple[str, int, int], units: str = "byte", grid: str = "(7, 1, 1)") -> str:
    """Returns a raw page: (name, read, write) a kernel."""
    lines = ["==PROF== Connected to process 7", HEADER.format(READ, WRITE)]
    lines.append(f'"","","","","{units}","{units}"')
    for number, (name, read, write) in enumerate(kernels):
        lines.append(f'"{number}","{name}","(128, 1, 1)","{grid}","{read:,}","{write:,}"')
    return "\n".join([*lines, "==PROF== Disconnected"]) + "\n"


def details(*kernels: tuple[str, float, float]) -> str:
    """Returns a details page: a row for each metric, in a unit that suits it."""
    lines = [
        '"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"'
    ]
    for number, (name, *values) in enumerate(kernels):
        head = f'"{number}","{name}","(128, 1, 1)","(7, 1, 1)"'
        lines.append(f'{head},"Duration","us","3.1"')
        lines += [f'{head},"{m}","Mbyte","{v}"' for m, v in zip((READ, WRITE), values, strict=True)]
    return "\n".join(lines)


def in_counters(name: str) -> str:
    return name.format(*IN_COUNTERS)


def steps(*names: str, count: int = 1, grid: tuple[int, ...] = (7, 1, 1)) -> TraceBuilder:
    """Returns a trace of steps that each run these kernels."""
    builder, at, number = trace(), 0, 1
    for step in range(count):
        builder.step(step, at, 90)
        for name in names:
            at += 10
            builder.runtime("cudaLaunchKernel", at, 2, correlation=number)
            full = name.format(*IN_TRACE)
            builder.kernel(full, at + 4, 3, correlation=number, grid=list(grid), block=[128, 1, 1])
            number += 1
        at += 100
    return builder


def joined(builder: TraceBuilder, text: str, folder: Path) -> Measured:
    (folder / "c.csv").write_text(text)
    structure = build_structure(read_trace(builder.write(folder / "t.json")))
    return join_counters(structure, read_counters(folder / "c.csv"))


def test_names_with_and_without_native_are_one_kernel(tmp_path: Path) -> None:
    text = raw((in_counters(ADD), 1_500_000, 700), (in_counters(GELU), 30, 40))
    found = joined(steps(ADD, GELU), text, tmp_path)
    assert found.read_bytes.tolist() == [1_500_000, 30]
    assert found.write_bytes.tolist() == [700, 40]
    assert found.lines() == ["counters: 2 of 2 kernels joined to 2 activities"]


def test_equal_kernels_are_joined_in_order(tmp_path: Path) -> None:
    kernels = [(in_counters(ADD), n, 0) for n in (1, 2, 3)]
    kernels.insert(1, (in_counters(GELU), 9, 0))
    found = joined(steps(ADD, ADD, GELU, ADD), raw(*kernels), tmp_path)
    assert found.read_bytes.tolist() == [1, 2, 9, 3]


def test_counters_of_one_step_stand_for_every_step(tmp_path: Path) -> None:
    text = raw((in_counters(ADD), 1, 0), (in_counters(GELU), 2, 0))
    found = joined(steps(ADD, GELU, count=3), text, tmp_path)
    assert found.scope == "step"
    assert found.read_bytes.tolist() == [1, 2] * 3
    assert found.lines() == ["counters: 2 of 2 kernels joined to 6 activities, step by step"]


def test_transfers_have_no_counters_and_are_skipped(tmp_path: Path) -> None:
    builder = steps(ADD)
    builder.kernel("Memset (Device)", 1, 1, cat="gpu_memset", bytes=4)
    found = joined(builder, raw((in_counters(ADD), 1, 0)), tmp_path)
    assert sorted(found.read_bytes.tolist()) == [-1, 1]


def test_another_launch_configuration_is_joined_by_order_and_said(tmp_path: Path) -> None:
    text = raw((in_counters(ADD), 5, 0), grid="(8, 1, 1)")
    found = joined(steps(ADD), text, tmp_path)
    assert found.read_bytes.tolist() == [5]
    assert found.other_launch == (in_counters(ADD),)
    assert found.lines()[1] == "  joined by order, another launch configuration: add f32 v8"


def test_a_functor_that_one_name_hides_is_joined_by_family_and_launch(tmp_path: Path) -> None:
    hidden = "void at::vectorized_elementwise_kernel<8, T1, A>(int, T2, T3)"
    found = joined(steps(ADD), raw((hidden, 5, 0)), tmp_path)
    assert found.read_bytes.tolist() == [5]
    assert not found.other_launch


def test_what_does_not_match_is_reported_and_joined_to_nothing(tmp_path: Path) -> None:
    text = raw((in_counters(ADD), 1, 0), ("nvjet_sm90_tst_64x8_64x16_1x4_h_bz_TNT", 2, 0))
    found = joined(steps(ADD, GELU), text, tmp_path)
    assert found.read_bytes.tolist() == [1, -1]
    assert found.lines() == [
        "counters: 1 of 2 kernels joined to 1 activities",
        "  not joined: nvjet bf16 64x8x64 tn",
    ]


def test_kernels_that_ran_more_often_than_they_were_measured_are_not_guessed(
    tmp_path: Path,
) -> None:
    found = joined(steps(ADD, ADD, ADD), raw((in_counters(ADD), 1, 0)), tmp_path)
    assert found.read_bytes.tolist() == [-1] * 3
    assert len(found.unjoined) == 1


def test_the_details_page_is_read_with_its_units(tmp_path: Path) -> None:
    found = joined(steps(ADD), details((in_counters(ADD), 1.5, 0.25)), tmp_path)
    assert found.read_bytes.tolist() == [1_500_000]
    assert found.write_bytes.tolist() == [250_000]


def test_the_row_of_units_scales_the_raw_page(tmp_path: Path) -> None:
    found = joined(steps(ADD), raw((in_counters(ADD), 3, 1), units="Kbyte"), tmp_path)
    assert found.read_bytes.tolist() == [3000]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello\n",
        '"ID","Kernel Name"\n"",""\n"0","k"\n',
        raw((in_counters(ADD), 1, 0)).replace("1", "?"),
        raw((in_counters(ADD), 1, 0), units="parsec"),
        details((in_counters(ADD), 1, 1)).replace(WRITE, "other"),
    ],
)
def test_a_file_without_counters_says_how_to_make_one(text: str, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text(text)
    with pytest.raises(PtxError, match=r"no counters, .*c\.csv: make them with ncu --csv"):
        read_counters(path)


@pytest.mark.parametrize(
    ("name", "counters", "activities"),
    [("counters_dev", "counters_dev.ncu", 73), ("geglu_eager", "ncu_geglu_eager", 15),
     ("geglu_compile", "ncu_geglu_compile", 12)],
)  # fmt: skip
def test_real_counters_join_completely(
    shared: Path, name: str, counters: str, activities: int
) -> None:
    folder = shared / "traces" / "h200"
    structure = build_structure(read_trace(folder / f"{name}.json.gz"))
    rows = read_counters(folder / f"{counters}.csv")
    found = join_counters(structure, rows)
    assert not found.unjoined, found.lines()
    assert (found.read_bytes >= 0).sum() == activities
    if name == "counters_dev":
        order = structure.trace.table.start_ns[structure.activities.event].argsort()
        ordered = found.read_bytes[order]
        assert ordered[ordered >= 0].tolist() == [row.read_bytes for row in rows]
