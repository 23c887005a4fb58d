"""Where traces go, and how they get there from the private folder of a capture."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ptx.profiling.capture.command import not_started
from ptx.profiling.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

RAW_NAME = "trace"
"""What the names of all files begin with that the hook writes."""
_PACK_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Output:
    """The names of the files to write: `FOLDER/STEM[.rankN][.ending].json[.gz]`."""

    folder: Path
    stem: str
    packed: bool = True

    def publish(self, raw: Path) -> Path:
        """Moves a file that the hook wrote to its place, packed where wanted; returns its path."""
        name = self.stem + raw.name.removeprefix(RAW_NAME)
        if not self.packed:
            return Path(shutil.move(raw, self.folder / name))
        packed = raw.with_name(f"{raw.name}.gz")
        with raw.open("rb") as source, gzip.open(packed, "wb", _PACK_LEVEL) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        raw.unlink()
        return Path(shutil.move(packed, self.folder / f"{name}.gz"))


def output_for(asked: str | None, name: str) -> Output:
    """Returns where the traces go.

    Args:
        asked: a file that ends with `.json` or `.json.gz`, an existing folder, or None for the
            current one.
        name: the script's short name, for a file whose name nobody gave.

    Raises:
        UsageError: the file's name has another ending.
    """
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    if asked is None or Path(asked).is_dir():
        return Output(Path(asked or "."), stem)
    path = Path(asked)
    for ending, packed in ((".json.gz", True), (".json", False)):
        if path.name.endswith(ending):
            return Output(path.parent, path.name.removesuffix(ending), packed)
    raise UsageError("-o takes a name that ends with .json or .json.gz, or a folder", where=asked)


@contextmanager
def private_folder(beside: Path) -> Iterator[Path]:
    """Yields a new folder that only this user can read, on the disk of the output; removes it.

    Raises:
        PtxError: it cannot be made; its exit code is 125.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=".ptx-", dir=beside)).resolve()
    except OSError as error:
        raise not_started(error.strerror or str(error), where=str(beside)) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
