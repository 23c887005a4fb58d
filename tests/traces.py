"""A fluent builder of small traces in the layouts that trace files are met in.

Underscores in the names of arguments become spaces: `External_id=3`.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Layout: TypeAlias = Literal["kineto", "compact", "lines", "list", "pretty"]
LAYOUTS: tuple[Layout, ...] = ("kineto", "compact", "lines", "list", "pretty")
Time: TypeAlias = "int | float | str"


class TraceBuilder:
    """Collects events; `events` is the list that a file will hold."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.before: dict[str, Any] = {}
        self.after: dict[str, Any] = {}
        self._pid: int | str = 1
        self._tid: int | str = 1

    def thread(self, tid: int | str, pid: int | str = 1) -> TraceBuilder:
        """Puts the host events that follow on another thread."""
        self._pid, self._tid = pid, tid
        return self

    def header(self, **members: object) -> TraceBuilder:
        """Adds members in front of the event list."""
        self.before.update(members)
        return self

    def footer(self, **members: object) -> TraceBuilder:
        """Adds members behind the event list."""
        self.after.update(members)
        return self

    def add(self, event: object) -> TraceBuilder:
        """Adds an element as it is."""
        self.events.append(event)
        return self

    def host(
        self, cat: str, name: str, start: Time, dur: Time, args: dict[str, object]
    ) -> TraceBuilder:
        """Adds a complete event of the present thread."""
        event: dict[str, Any] = {
            "ph": "X",
            "cat": cat,
            "name": name,
            "pid": self._pid,
            "tid": self._tid,
            "ts": start,
            "dur": dur,
        }
        if args:
            event["args"] = _spaced(args)
        return self.add(event)

    def op(self, name: str, start: Time, dur: Time, **args: object) -> TraceBuilder:
        """Adds a `cpu_op`."""
        return self.host("cpu_op", name, start, dur, args)

    def annotation(self, name: str, start: Time, dur: Time, **args: object) -> TraceBuilder:
        """Adds a `user_annotation`."""
        return self.host("user_annotation", name, start, dur, args)

    def step(self, number: int, start: Time, dur: Time) -> TraceBuilder:
        """Adds a profiler step's mark."""
        return self.annotation(f"ProfilerStep#{number}", start, dur)

    def frame(self, name: str, start: Time, dur: Time, **args: object) -> TraceBuilder:
        """Adds a `python_function` (a module where the name says so)."""
        return self.host("python_function", name, start, dur, args)

    def runtime(
        self, name: str, start: Time, dur: Time, *, correlation: int | None = None, **args: object
    ) -> TraceBuilder:
        """Adds a runtime call."""
        if correlation is not None:
            args["correlation"] = correlation
        return self.host("cuda_runtime", name, start, dur, args)

    def kernel(
        self,
        name: str,
        start: Time,
        dur: Time,
        *,
        correlation: int | None = None,
        stream: int = 7,
        device: int = 0,
        cat: str = "kernel",
        **args: object,
    ) -> TraceBuilder:
        """Adds an activity of a device; `cat` also takes `gpu_memcpy` and `gpu_memset`."""
        args = {"device": device, "stream": stream, **args}
        if correlation is not None:
            args["correlation"] = correlation
        return self.add(
            {
                "ph": "X",
                "cat": cat,
                "name": name,
                "pid": device,
                "tid": stream,
                "ts": start,
                "dur": dur,
                "args": _spaced(args),
            }
        )

    def text(self, layout: Layout = "kineto") -> bytes:
        """Returns the file's text."""
        return render(self.events, layout, self.before, self.after)

    def write(self, path: Path, layout: Layout = "kineto", *, gz: bool = False) -> Path:
        """Writes the file and returns its path."""
        data = self.text(layout)
        path.write_bytes(gzip.compress(data, 6, mtime=0) if gz else data)
        return path


def trace() -> TraceBuilder:
    """Returns an empty builder."""
    return TraceBuilder()


def render(
    events: list[Any],
    layout: Layout,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> bytes:
    """Returns the text of a trace file; a bare list has no room for other members."""
    return render_texts([json.dumps(e) for e in events], layout, before, after)


def render_texts(
    texts: list[str],
    layout: Layout,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> bytes:
    """Returns the text of a trace file from the one-line texts of its events, sound or not.

    The indented layouts are those of the profiler (two spaces, several members a line) and of
    `json.dump(indent=2)` (only for sound texts).
    """
    before, after = before or {}, after or {}
    if layout == "pretty":
        document = {**before, "traceEvents": [json.loads(t) for t in texts], **after}
        return json.dumps(document, indent=2).encode("utf-8", "surrogatepass")
    if layout == "list":
        return ("[" + ", ".join(texts) + "]").encode("utf-8", "surrogateescape")
    head = "".join(f"{json.dumps(k)}: {json.dumps(v)},\n  " for k, v in before.items())
    tail = "".join(f",\n  {json.dumps(k)}: {json.dumps(v)}" for k, v in after.items())
    if layout == "kineto":
        body = ",\n".join(f"  {{\n    {_inside(t)}\n  }}" for t in texts)
        text = f'{{\n  {head}"traceEvents": [\n{body}\n  ]{tail}\n}}\n'
    elif layout == "lines":
        body = ",\n".join(texts)
        text = f'{{{head}"traceEvents": [\n{body}\n]{tail}}}\n'
    else:
        text = f'{{{head}"traceEvents":[{",".join(texts)}]{tail}}}'
    return text.encode("utf-8", "surrogateescape")


def _spaced(args: dict[str, object]) -> dict[str, object]:
    return {key.replace("_", " "): value for key, value in args.items()}


def _inside(text: str) -> str:
    """Returns what stands between the braces of an object's text."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("the indented layout takes objects only")
    return text[1:-1]
