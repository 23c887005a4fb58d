"""Makes the pictures of the README from the real program on sample traces.

Run by `make pictures`.
"""

from __future__ import annotations

from pathlib import Path

from ptx.tui.cli._load import load_structure
from ptx.tui.cli.export import picture

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PICTURES = {
    "explore": ("geglu_eager", (120, 32), ""),
    "timeline": ("geglu_eager", (120, 24), "2"),
    "train": ("train_step_eager", (120, 32), "3"),
}


def svg_of(name: str) -> str:
    """Returns a picture as the program draws it now."""
    sample, size, keys = PICTURES[name]
    structure = load_structure(str(ROOT / "sample_traces" / f"{sample}.json.gz"))
    return picture(structure, size, keys.split())


def main() -> None:
    """Writes all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (IMAGES / f"{name}.svg").write_text(svg_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()
