"""One honest sentence about a comparison, then one clause each for the largest gain and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.changes import changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.analysis.comparison.changes import Change
    from ptx.profiling.analysis.comparison.model import Comparison, Side

_LEAST_US = 1.0
_LEAST_SHARE = 0.01
_LOSS_SHARE = 0.05
_IDLE_BUSY = 0.6
_CPU_SHARE = 0.1
_CAUSE_WORDS = {"op": "in ops", "python": "in Python", "launch": "launching", "sync":
                "waiting for the device", "alloc": "allocating", "data": "loading data",
                "other": "outside all events"}  # fmt: skip


def verdict_of(found: Comparison) -> str:
    """Returns the sentence; it never says faster on modelled bytes or unequal capture flags."""
    return "; ".join(_clauses(found))


def _clauses(found: Comparison) -> Iterator[str]:
    if not found.similar:
        low = min(found.matched_share)
        yield f"different programs: {_percent(low)} of the products match, so only totals compare"
        return
    if found.other_shapes:
        yield _other_shapes(found)
        return
    yield from _compile_first(found)
    if not found.groups:
        yield "no device activity was recorded, so only the CPU side is compared"
        yield from _host(found)
        return
    delta = found.delta_per_step("gpu_sum_ns") or 0
    if _nothing_to_fuse(found):
        yield _same_kernels(found)
    elif abs(delta) <= noise_ns(found):
        yield from _unchanged(found)
    elif delta < 0:
        yield from _gain(found, delta)
    else:
        yield from _loss(found, delta)
    yield from _idle(found)
    yield from _host(found)
    yield from _breaks(found)


def noise_ns(found: Comparison) -> float:
    """Returns by how much the GPU time of a step differs for no reason: 1 %, 3 MADs, 1 us."""
    before = [side.per_step["gpu_sum_ns"].median or 0 for side in found.sides]
    spreads = []
    for side in found.sides:
        spread = side.per_step["gpu_sum_ns"]
        if spread.median is not None and spread.min is not None and len(side.steps) > 2:
            spreads.append(spread.median - spread.min)
    return max(_LEAST_SHARE * max(before), 3 * max(spreads, default=0) / 2, _LEAST_US * 1000)


def _other_shapes(found: Comparison) -> str:
    details = next((g.details[0] for g in found.groups if g.details), "")
    what = f" ({details})" if details else ""
    return f"the inputs differ{what}: times cannot be compared kernel by kernel"


def _compile_first(found: Comparison) -> Iterator[str]:
    recompiled = found.compiled.recompiles
    for word, count, cold in zip("AB", recompiled, found.compiled.cold_steps, strict=True):
        if count:
            yield f"{word} recompiled {_times(count)} within the trace ({cold} steps compile)"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _nothing_to_fuse(found: Comparison) -> bool:
    return all(group.kind in ("same", "moved") for group in found.groups)


def _same_kernels(found: Comparison) -> str:
    delta = found.delta_per_step("gpu_sum_ns") or 0
    text = f"the same kernels run on both sides ({_us(delta)} a step)"
    views = found.delta_per_step("views") or 0
    regions = found.compiled.regions
    if regions[1] > regions[0]:
        removed = f"removed {-views} view ops and " if views < 0 else ""
        return f"nothing to fuse: {text}; compile {removed}adds its prologue"
    return text


def _unchanged(found: Comparison) -> Iterator[str]:
    launches = found.delta_per_step("launches") or 0
    text = "GPU time unchanged within noise"
    if launches < 0:
        text += f" with {-launches} launches fewer, which helps only where the CPU holds it back"
    yield text
    gain, loss = _extremes(found)
    if gain and loss and -gain.delta_ns > noise_ns(found):
        yield f"{_what(gain)} is undone by {_what(loss)}"


def _gain(found: Comparison, delta: int) -> Iterator[str]:
    before = found.a.per_step["gpu_sum_ns"].median or 1
    gain, loss = _extremes(found)
    what = f": {_what(gain)}" if gain else ""
    saved, whole = _us(-delta, sign=False), _us(before, sign=False)
    share = _percent(-delta / before)
    yield f"{_saver(found)} {saved} of {whole} GPU time a step ({share}){what}"
    yield from _kept(found)
    if loss and loss.delta_ns > _LOSS_SHARE * -delta:
        yield f"but it loses in {_what(loss)}"


def _loss(found: Comparison, delta: int) -> Iterator[str]:
    gain, loss = _extremes(found)
    because = f", because of {_what(loss)}" if loss else ""
    yield f"the GPU works {_us(delta, sign=False)} longer a step{because}"
    if gain:
        yield f"it gains in {_what(gain)}"


def _saver(found: Comparison) -> str:
    regions = found.compiled.regions
    return "compile saves" if regions[1] > regions[0] else "B saves"


def _extremes(found: Comparison) -> tuple[Change | None, Change | None]:
    """Returns the largest gain and the largest loss beyond noise; repeated layers count as one."""
    least = _LEAST_US * 1000
    changed = [change for change in changes(found.groups) if change.kind != "same"]
    gain = min(changed, key=lambda change: change.delta_ns, default=None)
    loss = max(changed, key=lambda change: change.delta_ns, default=None)
    return (
        gain if gain is not None and gain.delta_ns < -least else None,
        loss if loss is not None and loss.delta_ns > least else None,
    )


def _what(change: Change) -> str:
    places = f", {change.places} places" if change.places > 1 else ""
    return f"{change.text}{places} ({_us(change.delta_ns)})"


def _kept(found: Comparison) -> Iterator[str]:
    kept = sum(group.kind in ("same", "moved") for group in found.groups)
    if kept:
        yield f"{kept} of {len(found.groups)} groups run the same kernels"


def _idle(found: Comparison) -> Iterator[str]:
    before, after = (side.typical_idle_ns for side in found.sides)
    if before is None or after is None:
        return
    delta = after - before
    shares = [_idle_share(side) for side in found.sides]
    if abs(delta) > max(_LEAST_SHARE * found.a.typical_step_ns, noise_ns(found)):
        more, less = ("but ", "more") if delta > 0 else ("", "less")
        where = _cause(found, delta)
        yield f"{more}the device idles {_us(abs(delta), sign=False)} {less} a step{where}"
    if min(shares) > 1 - _IDLE_BUSY:
        yield (
            f"it idles {_percent(shares[1])} of the step, so that GPU time does not show in "
            "step time"
        )


def _cause(found: Comparison, delta: int) -> str:
    """Returns what the host mostly did in the additional idle time."""
    before, after = (side.idle_by for side in found.sides)
    changes = {w: after.get(w, 0) - before.get(w, 0) for w in {*before, *after}}
    sign = 1 if delta > 0 else -1
    word = max(sorted(changes), key=lambda w: sign * changes[w], default=None)
    return f", mostly {_CAUSE_WORDS[word]}" if word is not None else ""


def _idle_share(side: Side) -> float:
    whole = side.typical_step_ns * max(1, len(side.devices))
    return (side.typical_idle_ns or 0) / whole if whole else 0.0


def _host(found: Comparison) -> Iterator[str]:
    times = found.host.dispatch_ns
    if times is None:
        return
    before, after = times
    if after - before > _CPU_SHARE * max(before, 1):
        advice = ""
        launches, graphs = found.b.per_step["launches"].median, found.compiled.graph_launches[1]
        if found.compiled.regions[1] and launches and launches > 1 and not graphs:
            advice = ': consider mode="reduce-overhead"'
        yield (
            f"CPU dispatch grew from {_us(before, sign=False)} to {_us(after, sign=False)} "
            f"under the profiler{advice}"
        )


def _breaks(found: Comparison) -> Iterator[str]:
    before, after = found.compiled.graph_breaks
    if after > before:
        many = "s" if after > 1 else ""
        yield f"{after} graph break{many}: {after + 1} compiled regions in place of one"


def _us(ns: int, *, sign: bool = True) -> str:
    text = f"{abs(ns) / 1000:.1f}" if abs(ns) < 10_000 else f"{abs(ns) / 1000:.0f}"
    return f"{('-' if ns < 0 else '+') if sign else ''}{text} us"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
