"""What to start for the command that the user gave, and how to get the hook into it."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ptx.profiling.capture.inside.settings import VARIABLE
from ptx.profiling.errors import PtxError

EXIT_NOT_STARTED = 125
"""The exit code when ptx fails before the script starts; any other one is the script's."""

_SITE = Path(__file__).with_name("site")
_BOOT = Path(__file__).with_name("inside") / "boot.py"
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start.

    Args:
        argv: the program and its arguments.
        name: a short name of the script, for the names of files.
    """

    argv: tuple[str, ...]
    name: str


def resolve(words: list[str], python: str | None = None) -> Command:
    """Returns what to start for the words behind `--`.

    `x.py ...` and `-m mod ...` run under `python`, else under the first Python on PATH; anything
    else runs as it is.

    Args:
        words: the user's command, at least one word.
        python: the interpreter for a bare script or module.

    Raises:
        PtxError: there is no such program or script; its exit code is 125.
    """
    if words[0] == "-m" and len(words) == 1:
        raise not_started("-m needs the name of a module")
    if words[0] == "-m" or words[0].endswith((".py", ".pyw")):
        if words[0] != "-m" and not Path(words[0]).is_file():
            raise not_started("no such script", where=words[0])
        words = [_interpreter(python), *words]
    elif shutil.which(words[0]) is None:
        raise not_started(
            "cannot run",
            where=words[0],
            hint="a Python script ends with .py; a module goes behind -m",
        )
    return Command(tuple(_with_boot(words)), _short_name(words))


def environment(settings_text: str) -> dict[str, str]:
    """Returns this process's environment with the hook in it."""
    found = dict(os.environ)
    before = found.get("PYTHONPATH")
    found["PYTHONPATH"] = os.pathsep.join([str(_SITE), *([before] if before else [])])
    found[VARIABLE] = settings_text
    return found


def not_started(what: str, *, where: str = "", hint: str = "") -> PtxError:
    """Returns the error for a failure before the script started."""
    return PtxError(what, where=where, hint=hint, exit_code=EXIT_NOT_STARTED)


def _interpreter(python: str | None) -> str:
    names = [python] if python else ["python", "python3"]
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    hint = "" if python else "name the script's interpreter: --python PATH"
    raise not_started("no Python to run the script with", where=python or "PATH", hint=hint)


def _with_boot(words: list[str]) -> list[str]:
    """Puts the boot file before a script whose Python will not look at PYTHONPATH."""
    if _PYTHON.fullmatch(Path(words[0]).name) is None:
        return words
    at = _end_of_options(words)
    options = "".join(word[1:] for word in words[1:at] if re.fullmatch("-[A-Za-z]+", word))
    if at == len(words) or not set(options) & set("IES"):
        return words
    return [*words[:at], str(_BOOT), str(_SITE), *words[at:]]


def _end_of_options(words: list[str]) -> int:
    """Returns where the interpreter's own options end: at the script, -m or -c."""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    return min(at, len(words))


def _short_name(words: list[str]) -> str:
    """Returns the script's stem, the module's last word or else the program's name."""
    for position, word in enumerate(words[1:], 1):
        if word.endswith((".py", ".pyw")):
            return Path(word).stem
        following = words[position + 1] if position + 1 < len(words) else ""
        if word == "-m" and following and not following.startswith("torch.distributed."):
            return following.removesuffix(".__main__").rpartition(".")[2]
    return Path(words[0]).stem
