"""The answer to what an op did with memory, and its one line of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Tensor

EffectKind: TypeAlias = Literal["view", "copy", "in_place", "new", "no_op", "unknown"]
Certainty: TypeAlias = Literal["exact", "by rule", "by allocation", "as used later", "unknown"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What an op did to its tensors.

    Attributes:
        kind: the class.
        of_input: the position of the input that is viewed, copied, written or returned.
        before: the geometry that the op started from, None for lists and where none is recorded.
        after: the geometry of the first output, None where it is not known.
        storage_offset: where `after` starts in its storage in elements, None if not recorded.
        shift: by how many elements a view starts behind its input, None if not known.
        written_bytes: bytes written to the output, 0 where nothing was written.
        certainty: where the answer comes from.
        pieces: how many outputs there are (split and its kin).
        failed: torch refused the call; the event carries no other mark of it.
    """

    kind: EffectKind
    of_input: int | None = None
    before: Tensor | None = None
    after: Tensor | None = None
    storage_offset: int | None = None
    shift: int | None = None
    written_bytes: int | None = None
    certainty: Certainty = "by rule"
    pieces: int = 1
    failed: bool = False

    def text(self) -> str:
        """Returns the effect as one line, without its certainty."""
        if self.failed:
            return f"failed view of input {self.of_input}: torch refused the call"
        if self.kind == "view":
            return f"view of input {self.of_input} (no kernel){_after(': ', self._change())}"
        if self.kind == "copy":
            return f"copies {self._bytes()}{self._strides()}"
        if self.kind == "in_place":
            return self._in_place()
        if self.kind == "new":
            return "new tensor" + _after(" ", self._made())
        if self.kind == "no_op":
            return f"returns input {self.of_input} itself (no kernel)"
        return "not known"

    def _in_place(self) -> str:
        if self.written_bytes == 0:
            return (
                f"changes input {self.of_input} in place (no kernel){_after(': ', self._change())}"
            )
        if self.before is not self.after:
            return f"copies {self._bytes()} into input {self.of_input}{self._strides()}"
        return f"writes {self._bytes()} to input {self.of_input} in place"

    def _change(self) -> str:
        """Returns where a view goes; the sizes again only if they are not those of the input."""
        if self.before is None or self.after is None:
            return "" if self.after is None else f"-> {geometry(self.after)}"
        moved = sorted(self.before.shape) == sorted(self.after.shape)
        target = _bracketed(self.after.strides) if moved else geometry(self.after)
        many = f" and {self.pieces - 1} more" if self.pieces > 1 else ""
        return f"{geometry(self.before)} -> {target}{many}{self._offset()}"

    def _offset(self) -> str:
        if self.shift is not None:
            return f" offset {self.shift}"
        return "" if self.storage_offset is None else f" storage offset {self.storage_offset}"

    def _bytes(self) -> str:
        return (
            "an unknown number of bytes"
            if self.written_bytes is None
            else f"{self.written_bytes} B"
        )

    def _strides(self) -> str:
        if self.before is None or self.after is None:
            return ""
        cast = ""
        if self.before.dtype != self.after.dtype and self.before.dtype and self.after.dtype:
            cast = f", {self.before.dtype} -> {self.after.dtype}"
        return f" ({_plain(self.before.strides)} -> {_plain(self.after.strides)}{cast})"

    def _made(self) -> str:
        if self.after is None:
            return "" if self.written_bytes is None else f"of {self.written_bytes} B"
        parts = [self.after.dtype, geometry(self.after)]
        size = "" if self.written_bytes is None else f", {self.written_bytes} B"
        return " ".join(filter(None, parts)) + size


UNKNOWN = Effect("unknown", certainty="unknown")


def geometry(tensor: Tensor) -> str:
    """Returns sizes and strides as text: `(64,32) [32,1]`."""
    return f"({_plain(tensor.shape)}) {_bracketed(tensor.strides)}"


def _bracketed(strides: Sequence[int] | None) -> str:
    return "[strides not recorded]" if strides is None else f"[{_plain(strides)}]"


def _plain(numbers: Sequence[int] | None) -> str:
    return "not recorded" if numbers is None else ",".join(map(str, numbers))


def _after(separator: str, text: str) -> str:
    return separator + text if text else ""
