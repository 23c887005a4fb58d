"""Anchors: units that are the same op on both sides, found by keys without aligning sequences.

Keys are tried from the strictest on; each level sees what the levels before left over. A key that
occurs equally often on both sides pairs the i-th with the i-th, whatever stands between: repeated
layers match exactly and reordering does not matter. Only keys with unequal counts are aligned.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.sequences import common_subsequence, heaviest_chain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ptx.profiling.analysis.comparison.calls import Call, Key
    from ptx.profiling.analysis.comparison.program import Unit

_ANCHOR_KINDS = ("gemm", "convolution", "attention")
_ALIKE = 0.8


@dataclass(frozen=True, slots=True)
class Anchor:
    """A pair of units (positions on both sides), how sure it is, and what it rests on."""

    a: int
    b: int
    confidence: float
    how: str
    level: int


@dataclass(frozen=True, slots=True)
class Level:
    """A kind of key with the confidence of a unique match, one by order, one by alignment."""

    number: int
    key: Callable[[Call], Key | None]
    confidence: tuple[float, float, float]
    how: str

    @property
    def how_by_order(self) -> str:
        """Returns what a match of a key that occurs several times rests on."""
        return self.how if self.how == "sequence" else "order"


def _exact(call: Call) -> Key | None:
    key = call.op_key
    return None if key is None or not call.has_sizes else (*key, call.main)


def _op(call: Call) -> Key | None:
    return call.op_key if call.has_sizes else None


def _op_without_sizes(call: Call) -> Key | None:
    return None if call.class_key is None else (*call.class_key, call.main)


def _loose(call: Call) -> Key | None:
    return call.loose_key if call.has_sizes else None


def _kernel(call: Call) -> Key | None:
    return (*call.where, call.main) if call.fusion is None else None


def _class(call: Call) -> Key | None:
    return call.class_key


def _fused_with_pointers(call: Call) -> Key | None:
    if call.fusion is None:
        return None
    return (*call.where, call.main, tuple((t.shape, t.dtype) for t in call.tensors))


def _fused(call: Call) -> Key | None:
    return (*call.where, call.main) if call.fusion is not None else None


def _fused_ops(call: Call) -> Key | None:
    if call.fusion is None or call.iterations is None:
        return None
    return (*call.where, call.fusion.kind, call.fusion.ops, call.iterations)


_LEVELS = (
    Level(1, _exact, (0.99, 0.95, 0.85), "shapes"),
    Level(1, _op_without_sizes, (0.9, 0.8, 0.7), "names"),
    Level(2, _op, (0.95, 0.9, 0.8), "shapes"),
    Level(3, _loose, (0.8, 0.75, 0.7), "shapes"),
)
_BY_KERNEL = Level(4, _kernel, (0.9, 0.8, 0.7), "sequence")
_OTHER_SHAPES = Level(5, _class, (0.6, 0.6, 0.6), "order")
_FUSED_LEVELS = (
    Level(6, _fused_with_pointers, (0.95, 0.95, 0.85), "shapes"),
    Level(6, _fused, (0.8, 0.8, 0.7), "names"),
    Level(6, _fused_ops, (0.6, 0.6, 0.6), "names"),
)


def find_anchors(a: Sequence[Unit], b: Sequence[Unit]) -> list[Anchor]:
    """Returns the units that are one op on both sides, each at most once, by their place in `a`.

    Near linear in the number of units.
    """
    matching = _Matching(a, b)
    sized = all(any(u.call.has_sizes for u in side) for side in (a, b))
    for level in _LEVELS:
        if (level.how == "names") != sized:
            matching.match(level)
    if any(not unit.call.chain and unit.call.fusion is None for unit in (*a, *b)):
        matching.match(_BY_KERNEL)
    if matching.mostly_unmatched() and matching.alike_without_shapes():
        matching.match(_OTHER_SHAPES)
    for level in _FUSED_LEVELS:
        matching.match(level)
    return sorted(matching.found, key=lambda anchor: anchor.a)


def spine(anchors: Sequence[Anchor], a: Sequence[Unit]) -> list[Anchor]:
    """Returns the anchors that keep their order on both sides: the heaviest such chain by time."""
    order = sorted(range(len(anchors)), key=lambda k: anchors[k].b)
    rank = {k: place for place, k in enumerate(order)}
    by_a = sorted(range(len(anchors)), key=lambda k: anchors[k].a)
    chain = heaviest_chain([rank[k] for k in by_a], [max(1, a[anchors[k].a].ns) for k in by_a])
    return [anchors[by_a[k]] for k in chain]


class _Matching:
    """What is matched so far."""

    def __init__(self, a: Sequence[Unit], b: Sequence[Unit]) -> None:
        self._a, self._b = a, b
        self._open_a = list(range(len(a)))
        self._open_b = list(range(len(b)))
        self.found: list[Anchor] = []

    def match(self, level: Level) -> None:
        """Adds the pairs of one level."""
        in_a = self._by_key(level, self._a, self._open_a)
        in_b = self._by_key(level, self._b, self._open_b)
        uneven: set[Key] = set()
        unique, by_order, _ = level.confidence
        found: list[Anchor] = []
        for key, mine in in_a.items():
            theirs = in_b.get(key)
            if theirs is None:
                continue
            if len(mine) != len(theirs):
                uneven.add(key)
                continue
            sure = unique if len(mine) == 1 else by_order
            how = level.how if len(mine) == 1 else level.how_by_order
            found += [
                Anchor(i, j, sure, how, level.number) for i, j in zip(mine, theirs, strict=True)
            ]
        self._take(found)
        if uneven:
            self._take(self._aligned(level, in_a, in_b, uneven))

    def mostly_unmatched(self) -> bool:
        """Returns whether most products, convolutions and attentions of both sides are open."""
        return all(
            2 * sum(units[k].call.kind.startswith(_ANCHOR_KINDS) for k in open_)
            > sum(unit.call.kind.startswith(_ANCHOR_KINDS) for unit in units)
            for units, open_ in ((self._a, self._open_a), (self._b, self._open_b))
        )

    def alike_without_shapes(self) -> bool:
        """Returns whether products, convolutions and attentions come in one order on both sides."""
        a, b = (
            [u.call.class_key for u in units if u.call.kind.startswith(_ANCHOR_KINDS)]
            for units in (self._a, self._b)
        )
        return len(common_subsequence(a, b)) >= _ALIKE * max(len(a), len(b))

    @staticmethod
    def _by_key(level: Level, units: Sequence[Unit], open_: list[int]) -> dict[Key, list[int]]:
        found: dict[Key, list[int]] = defaultdict(list)
        keys: dict[int, Key | None] = {}
        for position in open_:
            call = units[position].call
            number = id(call)
            if number not in keys:
                keys[number] = level.key(call)
            key = keys[number]
            if key is not None:
                found[key].append(position)
        return found

    def _aligned(
        self,
        level: Level,
        in_a: dict[Key, list[int]],
        in_b: dict[Key, list[int]],
        keys: set[Key],
    ) -> list[Anchor]:
        """Returns pairs of keys that occur unequally often.

        What stands right beside an anchor on both sides goes with it; the rest is aligned between
        the anchors.
        """
        chain = spine(self.found, self._a)
        key_a, key_b = (
            {position: key for key in keys for position in found[key]} for found in (in_a, in_b)
        )
        pairs = _beside(chain, key_a, key_b)
        cuts_a = [anchor.a for anchor in chain]
        cuts_b = [anchor.b for anchor in chain]
        parts_a, parts_b = _parts(key_a, cuts_a), _parts(key_b, cuts_b)
        for gap, part in parts_a.items():
            other = parts_b.get(gap, [])
            pairs += [
                (part[i], other[j])
                for i, j in common_subsequence([key_a[k] for k in part], [key_b[k] for k in other])
            ]
        sure = level.confidence[2]
        return [Anchor(i, j, sure, level.how_by_order, level.number) for i, j in pairs]

    def _take(self, found: list[Anchor]) -> None:
        self.found += found
        taken_a = {anchor.a for anchor in found}
        taken_b = {anchor.b for anchor in found}
        self._open_a = [k for k in self._open_a if k not in taken_a]
        self._open_b = [k for k in self._open_b if k not in taken_b]


def _beside(
    chain: Sequence[Anchor], key_a: dict[int, Key], key_b: dict[int, Key]
) -> list[tuple[int, int]]:
    """Takes out and returns the pairs of equal keys in unbroken runs beside the anchors."""
    pairs: list[tuple[int, int]] = []
    for anchor in chain:
        for step in (1, -1):
            i, j = anchor.a + step, anchor.b + step
            while i in key_a and j in key_b and key_a[i] == key_b[j]:
                pairs.append((i, j))
                del key_a[i], key_b[j]
                i, j = i + step, j + step
    return pairs


def _parts(positions: Iterable[int], cuts: list[int]) -> dict[int, list[int]]:
    """Returns positions in order by the gap between cuts that they lie in."""
    parts: dict[int, list[int]] = defaultdict(list)
    for position in sorted(positions):
        parts[bisect_right(cuts, position)].append(position)
    return parts
