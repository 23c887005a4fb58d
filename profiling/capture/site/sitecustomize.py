"""Starts ptx's hook in a Python whose environment asks for it, and steps aside in any other.

Python imports this file when it starts, because `ptx capture` puts its folder on PYTHONPATH. The
syntax suits every Python from 2.7 on: a script may start another one, which must not notice.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]  # noqa: PTH100

if os.environ.get("PTX_CAPTURE") and sys.version_info >= (3, 10):
    try:
        from importlib.util import module_from_spec, spec_from_file_location

        _HOOK = os.path.join(os.path.dirname(_FOLDER), "inside", "hook.py")  # noqa: PTH118, PTH120
        _SPEC = spec_from_file_location("_ptx_capture_hook", _HOOK)
        assert _SPEC is not None
        assert _SPEC.loader is not None
        _MODULE = module_from_spec(_SPEC)
        sys.modules[_SPEC.name] = _MODULE
        _SPEC.loader.exec_module(_MODULE)
        _MODULE.start(_FOLDER)
    except Exception:
        pass  # whatever is wrong here is ptx's; the parent says that nothing was hooked

# The file of this name that this one shadows. Where there is none, or where it fails, Python
# treats the error as it would without ptx.
del sys.modules["sitecustomize"]
__import__("sitecustomize")
