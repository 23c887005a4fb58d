"""A trace whose every text tries to drive the terminal, and whose header is full of secrets."""

from __future__ import annotations

from tests.traces import TraceBuilder, trace

HOSTILE = (
    "evil\x1b[31m<script>x</script>&amp;\x1b]52;c;ZXZpbA==\x07\x9b2J\u202e\u2066[red]x[/]"
    "\r\nforged \x00\x7f\u2028name"
)
"""A name with escape sequences, scripts, line breaks, bidirectional controls and markup."""

UNSAFE = frozenset("\x00\x07\x0b\r\x1b\x7f\x9b\u2028\u2029\u202a\u202e\u2066")

SECRETS = ("hf_t0k3nt0k3n", "p4ssw0rdp4ss", "AKIASECRETKEY", "c00kiec00kie", "10.1.2.3-host")
"""What must stay in the header unless it is asked for."""


def hostile_trace() -> TraceBuilder:
    """Returns a trace that has the hostile name wherever a file can put a text."""
    h = HOSTILE
    builder = trace().header(
        schemaVersion=1,
        deviceProperties=[{"id": 0, "name": h, "computeMajor": 9, "computeMinor": 0}],
        pytorch_version=h,
        distributedInfo={"backend": h, "rank": 0, "world_size": 2},
        traceName=h,
        **{h.replace(" ", "_"): h},
    )
    for kind, member in (
        ("process_name", "name"),
        ("process_labels", "labels"),
        ("thread_name", "name"),
    ):
        builder.add({"ph": "M", "name": kind, "pid": 1, "tid": 1, "args": {member: h}})
    builder.annotation(f"ProfilerStep#{h}", 0, 1000).frame(f"nn.Module: {h}", 5, 900)
    builder.frame(f"/home/{h}.py(7): {h}", 6, 890).annotation(h, 7, 880)
    builder.op(
        h, 10, 800, Input_Dims=[[2, 3], []], Input_type=[h, "Scalar"], Concrete_Inputs=["", h]
    )
    builder.runtime(f"cudaLaunchKernel{h}", 12, 5, correlation=1, **{h.replace(" ", "_"): h})
    builder.kernel(h, 100, 50, correlation=1)
    builder.kernel(f"void {h}<float>({h}*)", 200, 50, correlation=1)
    builder.kernel(f"Memcpy HtoD ({h})", 300, 50, correlation=1, cat="gpu_memcpy")
    builder.thread(f"tid {h}", f"pid {h}").host(h, h, 20, 30, {h: h})
    return builder


def hostile_foreign_trace() -> TraceBuilder:
    """Returns such a trace of another producer: slices and threads alone."""
    builder = trace()
    builder.add({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": HOSTILE}})
    builder.host(HOSTILE, HOSTILE, 0, 50, {HOSTILE: HOSTILE})
    return builder.thread(HOSTILE, HOSTILE).host("x", f"{HOSTILE}2", 5, 9, {})


def secretive_trace() -> TraceBuilder:
    """Returns a healthy trace whose header and footer hold a process environment."""
    token, password, key, cookie, host = SECRETS
    builder = trace().header(
        HF_TOKEN=token,
        env={"PASSWORD": password, "nested": [{"AWS_SECRET_ACCESS_KEY": key}]},
        pytorch_version="2.9.0",
        deviceProperties=[{"id": 0, "name": "GPU", "uuid": cookie}],
    )
    builder.footer(PT_PROFILER_JOB_HOST=host, command=f"train.py --cookie={cookie}")
    builder.step(1, 0, 1000).op("aten::mm", 10, 800)
    return builder.runtime("cudaLaunchKernel", 12, 5, correlation=1).kernel(
        "gemm", 100, 50, correlation=1
    )
