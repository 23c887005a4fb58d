"""Makes the pictures of the README from the real program on sample traces.

Run by `make pictures`.
"""

from __future__ import annotations

from pathlib import Path

from ptx.tui.cli._load import load_structure
from ptx.tui.cli.export import picture

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PICTURES = {"explore": ("geglu_eager", (120, 28), "")}


def main() -> None:
    """Writes all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, (sample, size, keys) in PICTURES.items():
        structure = load_structure(str(ROOT / "sample_traces" / f"{sample}.json.gz"))
        svg = picture(structure, size, keys.split())
        (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
