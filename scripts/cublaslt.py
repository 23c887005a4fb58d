"""The few calls of cuBLASLt that `name_experiments.py` needs, through ctypes."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

CUDA_TYPES = {
    "f32": 0, "f64": 1, "f16": 2, "i8": 3, "cf32": 4, "i32": 10, "bf16": 14, "e4m3": 28,
    "e5m2": 29,
}  # fmt: skip
COMPUTE = {"f16": 64, "f32": 68, "f64": 70, "i32": 72, "fast_f16": 74, "fast_bf16": 75, "tf32": 77}
ITEM_BYTES = {
    "f32": 4, "f64": 8, "f16": 2, "i8": 1, "cf32": 8, "i32": 4, "bf16": 2, "e4m3": 1, "e5m2": 1,
}  # fmt: skip
EPILOGUES = {
    "": 1, "relu": 2, "bias": 4, "relu+bias": 6, "gelu": 32, "gelu+bias": 36, "relu+aux": 130,
    "gelu+aux": 160, "gelu+aux+bias": 164, "dgelu": 192, "drelu": 136, "bgradb": 512,
}  # fmt: skip
# Attributes of cublasLtMatmulDesc, of the preference and of an algorithm, as in cublasLt.h.
TRANS_A, TRANS_B, EPILOGUE, BIAS_POINTER, AUX_POINTER, AUX_LD, FAST_ACCUM = 3, 4, 7, 8, 11, 12, 25
MAX_WORKSPACE = 1
CONFIG = {
    "id": (0, 4), "tile": (1, 4), "split_k": (2, 4), "reduction": (3, 4), "swizzle": (4, 4),
    "custom": (5, 4), "stages": (6, 4), "inner": (7, 2), "cluster": (8, 2),
}  # fmt: skip
WORKSPACE_BYTES = 64 << 20


@dataclass(frozen=True)
class Product:
    """D = op(A) op(B) + beta C in BLAS terms: column-major, A of m x k, B of k x n."""

    m: int
    n: int
    k: int
    layout: str
    a: str
    b: str
    c: str
    d: str
    compute: str
    scale: str
    beta: float = 0.0
    epilogue: str = ""
    fast_accum: bool = True


class Algorithm(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algo", ctypes.c_uint64 * 8),
        ("workspace_bytes", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class Lt:
    """The few calls of cuBLASLt that the experiment needs."""

    def __init__(self) -> None:
        torch.mm(torch.ones(8, 8, device="cuda"), torch.ones(8, 8, device="cuda"))
        loaded = re.findall(r"\S*libcublasLt\.so\S*", Path("/proc/self/maps").read_text())
        self.library = Path(loaded[0])
        self.lt = ctypes.CDLL(str(self.library))
        self.handle = ctypes.c_void_p()
        self.check(self.lt.cublasLtCreate(ctypes.byref(self.handle)))
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
        self.words = self._enumerations()

    def check(self, status: int) -> None:
        """Raises RuntimeError where a call failed."""
        if status:
            raise RuntimeError(f"cuBLASLt answered {status}")

    def _enumerations(self) -> dict[str, dict[int, str]]:
        """Returns the words of cublasLt.h for tiles, stages and clusters; none without it."""
        found: dict[str, dict[int, str]] = {"tile": {}, "stages": {}, "cluster": {}}
        header = next(self.library.parents[1].rglob("cublasLt.h"), None)
        text = header.read_text() if header else ""
        for key, prefix in (
            ("tile", "MATMUL_TILE"), ("stages", "MATMUL_STAGES"), ("cluster", "CLUSTER_SHAPE"),
        ):  # fmt: skip
            for word, value in re.findall(rf"CUBLASLT_{prefix}_(\w+)\s*=\s*(\d+)", text):
                found[key].setdefault(int(value), word)
        return found

    def description(self, product: Product, buffers: Buffers) -> ctypes.c_void_p:
        """Returns the cublasLtMatmulDesc of a product."""
        made = ctypes.c_void_p()
        self.check(
            self.lt.cublasLtMatmulDescCreate(
                ctypes.byref(made), COMPUTE[product.compute], CUDA_TYPES[product.scale]
            )
        )

        def put(attribute: int, value: Any) -> None:  # noqa: ANN401
            status = self.lt.cublasLtMatmulDescSetAttribute(
                made, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))
            )
            self.check(status)

        put(TRANS_A, ctypes.c_int32(product.layout[0] == "t"))
        put(TRANS_B, ctypes.c_int32(product.layout[1] == "t"))
        put(EPILOGUE, ctypes.c_int32(EPILOGUES[product.epilogue]))
        if "bias" in product.epilogue or "bgrad" in product.epilogue:
            put(BIAS_POINTER, ctypes.c_void_p(buffers.extra.data_ptr()))
        if "aux" in product.epilogue or product.epilogue in ("dgelu", "drelu"):
            put(AUX_POINTER, ctypes.c_void_p(buffers.aux.data_ptr()))
            put(AUX_LD, ctypes.c_int64(-(-product.m // 128) * 128))
        if product.a in ("e4m3", "e5m2"):
            put(FAST_ACCUM, ctypes.c_int8(product.fast_accum))
        return made

    def layout(self, kind: str, rows: int, columns: int) -> ctypes.c_void_p:
        """Returns a dense column-major cublasLtMatrixLayout."""
        made = ctypes.c_void_p()
        self.check(
            self.lt.cublasLtMatrixLayoutCreate(
                ctypes.byref(made), CUDA_TYPES[kind], ctypes.c_uint64(rows),
                ctypes.c_uint64(columns), ctypes.c_int64(rows),
            )
        )  # fmt: skip
        return made

    def layouts(self, product: Product) -> tuple[ctypes.c_void_p, ...]:
        """Returns the layouts of A, B, C and D."""
        m, n, k = product.m, product.n, product.k
        a = (k, m) if product.layout[0] == "t" else (m, k)
        b = (n, k) if product.layout[1] == "t" else (k, n)
        return (
            self.layout(product.a, *a), self.layout(product.b, *b),
            self.layout(product.c, m, n), self.layout(product.d, m, n),
        )  # fmt: skip

    def algorithms(
        self, description: ctypes.c_void_p, layouts: tuple[ctypes.c_void_p, ...], wanted: int
    ) -> list[Algorithm]:
        """Returns what the library would choose, best first."""
        preference = ctypes.c_void_p()
        self.check(self.lt.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)))
        limit = ctypes.c_uint64(WORKSPACE_BYTES)
        self.check(
            self.lt.cublasLtMatmulPreferenceSetAttribute(
                preference, MAX_WORKSPACE, ctypes.byref(limit), ctypes.c_size_t(8)
            )
        )
        results, number = (Algorithm * wanted)(), ctypes.c_int()
        status = self.lt.cublasLtMatmulAlgoGetHeuristic(
            self.handle, description, *layouts, preference, wanted, results, ctypes.byref(number)
        )
        return [] if status else [r for r in results[: number.value] if r.state == 0]

    def config(self, algorithm: Algorithm) -> dict[str, int | str]:
        """Returns the configuration of an algorithm, with the header's words where it has them."""
        found: dict[str, int | str] = {}
        for key, (attribute, size) in CONFIG.items():
            value = ctypes.c_uint32()
            written = ctypes.c_size_t()
            self.lt.cublasLtMatmulAlgoConfigGetAttribute(
                ctypes.byref(algorithm), attribute, ctypes.byref(value), ctypes.c_size_t(size),
                ctypes.byref(written),
            )  # fmt: skip
            found[key] = self.words.get(key, {}).get(value.value, value.value)
        return found

    def run(
        self, product: Product, description: ctypes.c_void_p, layouts: tuple[ctypes.c_void_p, ...],
        algorithm: Algorithm, buffers: Buffers,
    ) -> bool:  # fmt: skip
        """Launches one algorithm on torch's current stream; says whether that was possible."""
        a, b, c, d = layouts
        status = self.lt.cublasLtMatmul(
            self.handle, description, _scalar(product.scale, 1.0), buffers.pointer("a"), a,
            buffers.pointer("b"), b, _scalar(product.scale, product.beta), buffers.pointer("c"), c,
            buffers.pointer("d"), d, ctypes.byref(algorithm),
            ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_size_t(WORKSPACE_BYTES),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )  # fmt: skip
        return bool(status == 0)


class Buffers:
    """Device memory for one product; C and D are one buffer."""

    def __init__(self, product: Product) -> None:
        m, n, k = product.m, product.n, product.k
        self.a = _zeros(m * k * ITEM_BYTES[product.a])
        self.b = _zeros(n * k * ITEM_BYTES[product.b])
        self.d = _zeros(m * n * max(ITEM_BYTES[product.d], ITEM_BYTES[product.c]))
        self.c = self.d if product.c == product.d else _zeros(m * n * ITEM_BYTES[product.c])
        self.extra = _zeros(4 * max(m, n) + 256)
        self.aux = _zeros((m + 256) * n * 4)

    def pointer(self, name: str) -> ctypes.c_void_p:
        """Returns the address of a buffer."""
        return ctypes.c_void_p(getattr(self, name).data_ptr())


def _zeros(size: int) -> torch.Tensor:
    return torch.zeros(size, dtype=torch.uint8, device="cuda")


def _scalar(kind: str, value: float) -> Any:  # noqa: ANN401
    made: Any
    if kind == "f16":
        made = ctypes.c_uint16({0.0: 0, 1.0: 0x3C00, 2.0: 0x4000}[value])
    elif kind == "cf32":
        made = (ctypes.c_float * 2)(value, 0.0)
    elif kind == "i32":
        made = ctypes.c_int32(int(value))
    else:
        made = ctypes.c_double(value) if kind == "f64" else ctypes.c_float(value)
    return ctypes.byref(made)
