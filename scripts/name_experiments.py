"""Asks cuBLASLt what a kernel really is, and lays that beside what its name says.

Run by `python scripts/name_experiments.py --out DIR` on a machine with an NVIDIA GPU and torch.
cuBLASLt is called directly: it names several algorithms for one product, runs exactly the one that
is asked for and tells the tile, stages, cluster and split of each. So every launch comes with its
truth: types, transposes and sizes of the product, and the configuration of the algorithm.
`DIR/launches.jsonl` gets one launch a line, `DIR/raster.json` the order in which tiles were
written, which is seen by copying the output while a long product runs.

What 6,415 launches on an H200 (torch 2.11, CUDA 13.0) proved:
- Layout letters, types, tile, K step, cluster of nvjet: 3,734 of 3,734 launches. Of five type
  letters the third is C and the fourth the type of alpha and beta; `b` is 8-bit integers, whose
  sums are not named.
- `h` and `v`: the raster order. With `h` neighbouring tiles follow each other along N of the BLAS
  view, in bands of several rows of tiles; with `v` along M. The three words are three bits of the
  algorithm's custom option: the last letter (T is 1), `h`, and that there is a `coop` at all.
- `coopA` stands with tiles of an even multiple of 64 along the matrix instruction's M, `coopB`
  with an odd one: 1,373 of 1,373. That two warp groups share the tile is still inferred.
- `bz` is beta 0 and nothing else, `badd` occurs with beta 1 only, `bx` with any other than 0.
- `splitK` is there exactly if K is split; its factor is in no name. The letters then still name
  the final output, though a second kernel writes it.
- `algo2` is there exactly for 8-bit products without fast accumulation.
- Epilogues run together: `relubias`, `geluauxbias`; `auxt` is the type of the auxiliary output.
- xmma's tile is in torch's view, M and N exchanged beside cuBLASLt's (1,156 of 1,156 oblong ones);
  its layout letters are those of BLAS. with `segment_k_on` K is split (319 of 319), mostly
  without a second kernel; `segment_k_off` leaves open whether it is.
- CUTLASS names in cuBLAS: an omitted output type is that of the sums, also where a second kernel
  turns them into the product's output type.
Not settled: the legacy names, of which this release launches none, and so their output types.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from cublaslt import EPILOGUES, Buffers, Lt, Product

import ptx

ALGORITHMS = 10
SHAPES = (
    (4096, 4096, 4096), (8192, 1024, 2048), (1024, 8192, 2048), (512, 512, 16384),
    (128, 256, 32768), (2880, 888, 2880), (64, 4096, 4096), (4096, 64, 4096),
    (1000, 1004, 1008), (333, 777, 555),
)  # fmt: skip
REDUCE_COMPUTE_TYPE = 2
"""CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE."""
RASTER_SHAPE = (4096, 4096, 1 << 18)
SNAPSHOTS = 12


@dataclass
class Launch:
    """One call of one algorithm: what was asked for and the kernels that ran."""

    product: Product
    config: dict[str, int | str]
    kernels: list[dict[str, Any]] = field(default_factory=list)


def products() -> list[Product]:
    """Returns every product that is run."""
    kinds = [
        tuple(kind.split())
        for kind in (
            "bf16 bf16 bf16 bf16 f32 f32", "bf16 bf16 f32 f32 f32 f32",
            "f16 f16 f16 f16 f32 f32", "f16 f16 f32 f32 f32 f32", "f16 f16 f16 f16 f16 f16",
            "f32 f32 f32 f32 f32 f32", "f32 f32 f32 f32 tf32 f32", "f32 f32 f32 f32 fast_f16 f32",
            "f32 f32 f32 f32 fast_bf16 f32", "i8 i8 i32 i32 i32 i32", "i8 i8 i8 i8 i32 f32",
            "f64 f64 f64 f64 f64 f64", "cf32 cf32 cf32 cf32 f32 cf32",
        )
    ]  # fmt: skip
    made = [
        Product(*shape, layout, *kind)
        for kind in kinds for layout in ("tn", "nn", "nt", "tt") for shape in SHAPES
    ]  # fmt: skip
    eighths = (
        ("e4m3", "e4m3", "bf16", "bf16"), ("e4m3", "e5m2", "bf16", "bf16"),
        ("e5m2", "e4m3", "f16", "f16"), ("e4m3", "e4m3", "f32", "f32"),
        ("e4m3", "e4m3", "bf16", "e4m3"), ("e5m2", "e4m3", "bf16", "e5m2"),
    )  # fmt: skip
    made += [
        Product(*shape, "tn", *kind, "f32", "f32", fast_accum=fast)
        for kind in eighths for shape in SHAPES[:8] for fast in (True, False)
    ]  # fmt: skip
    half = kinds[0]
    made += [
        Product(*shape, "tn", *half, beta, epilogue)
        for shape in SHAPES[:8] for beta in (0.0, 1.0, 2.0) for epilogue in EPILOGUES
    ]  # fmt: skip
    return made


def sweep(lt: Lt) -> list[Launch]:
    """Returns every launch with the kernels that it ran."""
    launches: list[Launch] = []
    with torch.profiler.profile() as profiler:
        for product in products():
            buffers = Buffers(product)
            description, layouts = lt.description(product, buffers), lt.layouts(product)
            for algorithm in lt.algorithms(description, layouts, ALGORITHMS):
                with torch.profiler.record_function(f"launch {len(launches)}"):
                    if lt.run(product, description, layouts, algorithm, buffers):
                        launches.append(Launch(product, lt.config(algorithm)))
        torch.cuda.synchronize()
    add_kernels(launches, profiler)
    return launches


def add_kernels(launches: list[Launch], profiler: Any) -> None:  # noqa: ANN401
    """Adds to each launch the kernels whose launch calls lie in its annotation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    ranges = sorted(
        (e["ts"], e["ts"] + e["dur"], int(e["name"].split()[1]))
        for e in events
        if e.get("cat") == "user_annotation" and e["name"].startswith("launch ")
    )
    calls = sorted(
        (e["ts"], e["args"]["correlation"])
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
    )
    owner: dict[int, int] = {}
    at = 0
    for start, correlation in calls:
        while at < len(ranges) and ranges[at][1] < start:
            at += 1
        if at < len(ranges) and ranges[at][0] <= start:
            owner[correlation] = ranges[at][2]
    for e in sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"]):
        number = owner.get(e["args"]["correlation"])
        if number is not None and number < len(launches):
            kept = {k: e["args"].get(k) for k in ("grid", "block", "shared memory")}
            launches[number].kernels.append({"name": e["name"], "us": e["dur"], **kept})


def raster(lt: Lt) -> dict[str, list[str]]:
    """Returns, by kernel name, a map of tiles: in which of the snapshots each was written first."""
    maps: dict[str, list[str]] = {}
    for layout in ("tn", "nn", "nt"):
        product = Product(*RASTER_SHAPE, layout, "bf16", "bf16", "bf16", "bf16", "f32", "f32")
        buffers = Buffers(product)
        description, layouts = lt.description(product, buffers), lt.layouts(product)
        for algorithm in lt.algorithms(description, layouts, 24):
            name = _name_of(lt, product, description, layouts, algorithm, buffers)
            tile = re.search(r"_(\d+)x(\d+)_", name)
            if not tile or name in maps or "nvjet" not in name:
                continue
            shots = _snapshots(lt, product, description, layouts, algorithm, buffers)
            maps[name] = _map(shots, product, int(tile.group(1)), int(tile.group(2)))
    return maps


def _name_of(lt: Lt, *call: Any) -> str:  # noqa: ANN401
    with torch.profiler.profile() as profiler:
        lt.run(*call)
        torch.cuda.synchronize()
    return next((e.key for e in profiler.key_averages() if "gemm" in e.key or "nvjet" in e.key), "")


def _snapshots(lt: Lt, *call: Any) -> list[torch.Tensor]:  # noqa: ANN401
    buffers = call[-1]
    buffers.d.fill_(0xFF)
    other = torch.cuda.Stream()
    shots = [
        torch.empty(len(buffers.d), dtype=torch.uint8, pin_memory=True) for _ in range(SNAPSHOTS)
    ]
    torch.cuda.synchronize()
    lt.run(*call)
    with torch.cuda.stream(other):
        for shot in shots:
            shot.copy_(buffers.d, non_blocking=True)
    torch.cuda.synchronize()
    return shots


def _map(shots: list[torch.Tensor], product: Product, tile_m: int, tile_n: int) -> list[str]:
    """Returns one line a row of tiles along M; a letter is the first snapshot with that tile."""
    seen: list[list[str]] = [["." for _ in range(0, product.n, tile_n)]
                             for _ in range(0, product.m, tile_m)]  # fmt: skip
    for number, shot in enumerate(shots):
        values = shot.view(torch.int16).view(product.n, product.m)
        for i, row in enumerate(seen):
            for j, known in enumerate(row):
                last = (min((j + 1) * tile_n, product.n) - 1, min((i + 1) * tile_m, product.m) - 1)
                if known == "." and int(values[last]) == 0:
                    row[j] = chr(ord("a") + number)
    return ["".join(row) for row in seen]


def truth_of(launch: Launch, family: str) -> dict[str, object]:
    """Returns the canonical fields that the product and the algorithm prove for a family."""
    product, config = launch.product, launch.config
    truth: dict[str, object] = {
        "layout": product.layout, "dtype_a": product.a, "dtype_b": product.b,
    }  # fmt: skip
    # Where a second kernel sums the parts of K, CUTLASS's writes them in the compute type.
    if not (family == "cutlass2" and config["reduction"] == REDUCE_COMPUTE_TYPE):
        truth["dtype_out"] = product.d
    if tile := re.fullmatch(r"(\d+)x(\d+)", str(config["tile"])):
        sizes = [int(size) for size in tile.groups()]
        # xmma names its tile in torch's view, which is that of BLAS transposed.
        first, second = sizes[::-1] if family == "cublas_xmma" else sizes
        truth |= {"tile_m": first, "tile_n": second}
    if stages := re.fullmatch(r"(\d+)x(\d+|AUTO)", str(config["stages"])):
        truth["tile_k"] = int(stages.group(1))
        if stages.group(2) != "AUTO":
            truth["stages"] = int(stages.group(2))
    if family == "cublas_nvjet":
        truth["cluster"] = str(config["cluster"]).removesuffix("x1")
    return truth


def claims_of(launch: Launch, name: str) -> dict[str, bool]:
    """Returns what the words of an nvjet name are held to mean, and if this launch bears it out."""
    product, config = launch.product, launch.config
    words = name.split("_")
    option = int(config["custom"])
    tile = [int(size) for size in words[3].split("x")]
    # The matrix instruction's M runs along the tile's M, or with a last N along its N.
    halves = tile[words[-1][-1] == "N"] // 64
    coop = next((word for word in words if word.startswith("coop")), "")
    return {
        "bz: beta is 0": ("bz" in words) == (product.beta == 0),
        "badd: beta is 1": "badd" not in words or product.beta == 1,
        "splitK: K is split": ("splitK" in words) == (int(config["split_k"]) > 1),
        "algo2: no fast accumulation": ("algo2" in words)
        == (product.a in ("e4m3", "e5m2") and not product.fast_accum),
        "last letter T: bit 0 of the custom option": (words[-1][-1] == "T") == bool(option & 1),
        "h: bit 1 of the custom option": ("h" in words) == bool(option & 2),
        "coop: bit 2 of the custom option": bool(coop) == bool(option & 4),
        "coopA for even, coopB for odd multiples of 64": not coop
        or (coop == "coopA") == (halves % 2 == 0),
    }


def report(launches: list[Launch]) -> None:
    """Prints, by family and field, how often names agree with what was launched; then the words."""
    counts: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    examples: dict[tuple[str, str], str] = {}
    for launch in launches:
        for kernel in launch.kernels:
            name = kernel["name"]
            decoded = ptx.decode(name, cut=False)
            family = decoded.family
            for key, value in truth_of(launch, family).items():
                if key in decoded.fields:
                    same = decoded.fields[key] == value
                    counts[family, key][same] += 1
                    if not same:
                        text = f"{name[:120]}: was {value} ({launch.product})"
                        examples.setdefault((family, key), text)
            if family == "cublas_nvjet":
                for claim, holds in claims_of(launch, name).items():
                    counts["nvjet", claim][holds] += 1
                    if not holds:
                        examples.setdefault(("nvjet", claim), f"{name} ({launch})")
    for (family, key), found in sorted(counts.items()):
        print(f"{family:14}{key:48}{found[True]:6} agree {found[False]:6} differ")
    for (family, key), text in sorted(examples.items()):
        print(f"first miss of {family} {key}: {text}")


def main(arguments: list[str]) -> int:
    """Runs the experiment; 1 where nothing could be launched."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    lt = Lt()
    print(torch.cuda.get_device_name(), lt.library, {k: len(v) for k, v in lt.words.items()})
    launches = sweep(lt)
    with (options.out / "launches.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(launch)) + "\n" for launch in launches)
    print(f"{len(launches)} launches")
    report(launches)
    maps = raster(lt)
    (options.out / "raster.json").write_text(json.dumps(maps, indent=1), encoding="utf-8")
    for name, lines in maps.items():
        print(name, *lines, sep="\n")
    return 0 if launches else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
