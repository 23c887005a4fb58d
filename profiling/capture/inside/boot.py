"""Starts the hook and then the script in one process, where PYTHONPATH is not looked at.

`python -I BOOT SITE script.py ...` and `python -I BOOT SITE -m module ...` run like the same
command without BOOT and SITE, but for what only the start of an interpreter can do.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Runs the command that follows this file and the hook's folder."""
    site, first = sys.argv[1], sys.argv[2]
    _start_hook(site)
    own_folder = not sys.flags.isolated and not getattr(sys.flags, "safe_path", False)
    if first == "-m":
        sys.argv[:] = sys.argv[3:]
        if own_folder:
            sys.path[0] = str(Path.cwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = sys.argv[2:]
        if own_folder:
            sys.path[0] = str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


def _start_hook(site: str) -> None:
    try:
        path = Path(__file__).with_name("hook.py")
        spec = importlib.util.spec_from_file_location("_ptx_capture_hook", path)
        if spec is None or spec.loader is None:
            return
        hook = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = hook
        spec.loader.exec_module(hook)
        hook.start(site)
    except Exception:
        return  # the parent says that nothing was hooked


if __name__ == "__main__":
    main()
