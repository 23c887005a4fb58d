"""Data goes one way: file -> columns -> structure -> meaning -> views -> screens -> commands."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

REPO_ROOT = Path(__file__).resolve().parents[2]

# Lowest first. A module may import its own entry and the lines above it; entries on one line do
# not know each other.
LAYERS = [
    ["ptx.profiling.errors", "ptx.profiling.sanitise"],
    ["ptx.profiling.trace"],
    ["ptx.profiling.structure"],
    ["ptx.profiling.kernels"],
    ["ptx.profiling.tensors"],
    ["ptx.profiling.analysis"],
    ["ptx.profiling.report"],
    ["ptx.profiling.capture"],
    ["ptx.profiling.api"],
    ["ptx.tui.state"],
    ["ptx.tui"],  # what stands beside the packages: keys, messages, work-arounds
    ["ptx.tui.widgets"],
    ["ptx.tui.screens"],
    ["ptx.tui.app"],
    ["ptx.tui.cli"],
    ["ptx"],
]
LEVELS = {entry: level for level, entries in enumerate(LAYERS) for entry in entries}

# Which part of the program may import a library; "" is the whole program.
ONLY_IN = {
    "textual": ("ptx.tui",),
    "rich": ("ptx.profiling.report", "ptx.tui"),
    "torch": ("ptx.profiling.capture",),
    "orjson": ("ptx.profiling", "ptx.tui.state", "ptx.tui.screens", "ptx.tui.cli"),
    "msgspec": ("ptx.profiling",),
}
NEVER_IN = {"textual": ("ptx.tui.state",), "rich": ("ptx.tui.state",)}


def module_files() -> dict[str, Path]:
    files = {}
    for folder in ("profiling", "tui"):
        for path in sorted((REPO_ROOT / folder).rglob("*.py")):
            parts = path.relative_to(REPO_ROOT).with_suffix("").parts
            name = ".".join(("ptx", *parts)).removesuffix(".__init__")
            files[name] = path
    return files


MODULES = module_files()


def lies_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def imports(module: str, path: Path) -> set[str]:
    """Returns the full names of all modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import"
            base = node.module or ""
            members = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else base for name in members}
    return found


def entry_of(module: str) -> str:
    """Returns the layer entry that a module of ptx belongs to."""
    entries = [entry for entry in LEVELS if lies_in(module, entry)]
    return max(entries, key=len)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_downwards_only(module: str) -> None:
    own = entry_of(module)
    for imported in imports(module, MODULES[module]):
        if not lies_in(imported, "ptx") or imported == "ptx":
            continue
        entry = entry_of(imported)
        assert entry == own or LEVELS[entry] < LEVELS[own], f"{module} imports {imported}"


@pytest.mark.parametrize("module", MODULES)
def test_libraries_stay_where_they_belong(module: str) -> None:
    for imported in imports(module, MODULES[module]):
        library = imported.partition(".")[0]
        allowed = ONLY_IN.get(library, ("ptx",))
        banned = NEVER_IN.get(library, ())
        assert any(lies_in(module, package) for package in allowed), f"{module}: {imported}"
        assert not any(lies_in(module, package) for package in banned), f"{module}: {imported}"


@pytest.mark.parametrize("module", [m for m in MODULES if lies_in(m, "ptx.tui.widgets")])
def test_widgets_do_not_know_each_other_or_the_file_format(module: str) -> None:
    for imported in imports(module, MODULES[module]):
        name = imported.removeprefix("ptx.tui.widgets.")
        shared_helper = name.startswith("_")
        assert name == imported or imported == module or shared_helper, f"{module}: {imported}"
        assert imported.partition(".")[0] not in ("gzip", "json"), f"{module}: {imported}"


def test_every_module_of_profiling_has_a_layer() -> None:
    strays = [m for m in MODULES if lies_in(m, "ptx.profiling") and entry_of(m) == "ptx"]
    assert not strays


@pytest.mark.parametrize("folder", ["profiling", "tui"])
def test_the_outer_folders_are_no_packages(folder: str) -> None:
    # A regular package of such a general name would hide, or be hidden by, somebody else's.
    assert not (REPO_ROOT / folder / "__init__.py").exists()
    inner = {path.parent for path in (REPO_ROOT / folder).glob("*/**/*.py")}
    assert all((path / "__init__.py").exists() for path in inner)
