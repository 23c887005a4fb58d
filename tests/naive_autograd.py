"""Forward ops of backward ops by plain loops over the events that a file is written from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.naive_structure import NaiveStructure


def forward_of(events: list[Any], parents: NaiveStructure) -> dict[int, int]:
    """Returns the forward op of each backward op that has one; flows come before numbers."""
    numbered = [
        e
        for e in parents.hosts
        if events[e]["cat"] == "cpu_op" and "Sequence number" in events[e]["args"]
    ]
    found: dict[int, int] = {}
    tops = {e: _top(events, parents, numbered, e) for e in numbered}
    for start, end in _flows(events):
        forward, backward = (_bound(events, numbered, parents, f) for f in (start, end))
        if forward is not None and backward is not None and forward != backward:
            found[tops[backward]] = tops[forward]
    by_thread = _lanes(events, parents, numbered)
    for e in numbered:
        if _is_backward(events[e]) and tops[e] == e and e not in found:
            lane = by_thread[events[e]["args"]["Fwd thread id"]]
            earlier = [
                f
                for f in numbered
                if not _is_backward(events[f])
                and events[f]["tid"] == lane
                and _number(events[f]) == _number(events[e])
                and parents.start[f] <= parents.start[e]
            ]
            if earlier:
                found[e] = tops[max(earlier, key=lambda f: _rank(parents, f))]
    return {e: found[tops[e]] for e in numbered if tops[e] in found}


def _number(event: dict[str, Any]) -> int:
    return int(event["args"]["Sequence number"])


def _is_backward(event: dict[str, Any]) -> bool:
    return bool(event["args"].get("Fwd thread id", 0) > 0)


def _rank(parents: NaiveStructure, event: int) -> tuple[int, int]:
    """Orders by start; of ops that start together the inner one comes later."""
    return parents.start[event], len(parents.ancestors(event))


def _top(events: list[Any], parents: NaiveStructure, numbered: list[int], event: int) -> int:
    for above in parents.ancestors(event):
        if above in numbered:
            same = _number(events[above]) == _number(events[event])
            if not same or _is_backward(events[above]) != _is_backward(events[event]):
                return event
            event = above
    return event


def _flows(events: list[Any]) -> list[tuple[Any, Any]]:
    ends = [e for e in events if e["cat"] == "fwdbwd" and e["ph"] == "f"]
    starts = [e for e in events if e["cat"] == "fwdbwd" and e["ph"] == "s"]
    pairs = []
    for end in ends:
        before = [s for s in starts if s["id"] == end["id"] and s["ts"] <= end["ts"]]
        if before:
            pairs.append((max(before, key=lambda s: s["ts"]), end))
    return pairs


def _bound(
    events: list[Any], numbered: list[int], parents: NaiveStructure, flow: dict[str, Any]
) -> int | None:
    begun = [
        e for e in numbered if events[e]["tid"] == flow["tid"] and events[e]["ts"] <= flow["ts"]
    ]
    if not begun:
        return None
    last = max(begun, key=lambda e: _rank(parents, e))
    running = events[last]["ts"] + events[last]["dur"] >= flow["ts"]
    return last if running else None


def _lanes(
    events: list[Any], parents: NaiveStructure, numbered: list[int]
) -> dict[int, int | None]:
    forward = [e for e in numbered if not _is_backward(events[e])]
    out: dict[int, int | None] = {}
    for thread in {_thread(events[e]) for e in numbered if _is_backward(events[e])}:
        asking = [e for e in numbered if _thread(events[e]) == thread]
        votes = {
            lane: len(
                {
                    _number(events[e])
                    for e in asking
                    for f in forward
                    if events[f]["tid"] == lane
                    and _number(events[f]) == _number(events[e])
                    and parents.start[f] <= parents.start[e]
                }
            )
            for lane in {events[f]["tid"] for f in forward}
        }
        best = [lane for lane, n in votes.items() if n == max(votes.values()) and n > 0]
        out[thread] = best[0] if len(best) == 1 else None
    return out


def _thread(event: dict[str, Any]) -> int:
    return int(event["args"].get("Fwd thread id", 0))
