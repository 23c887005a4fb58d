"""The Execution Trace that goes with a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.errors import TraceFormatError
from ptx.profiling.tensors.execution_trace import beside, read_execution_trace

if TYPE_CHECKING:
    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.execution_trace import ExecutionTrace


@once_per_trace
def execution_trace_of(structure: Structure) -> ExecutionTrace | None:
    """Returns the Execution Trace beside the file (by name), None without a sound one.

    A command that was given another one has its `keep` called.
    """
    found = beside(structure.trace.path)
    if found is None:
        return None
    try:
        return read_execution_trace(found)
    except TraceFormatError:  # nobody asked for it, and each answer says what it rests on
        return None
