"""Takes what looks secret out of a command before it is written anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

REDACTED = "***"

_SECRET = re.compile(r"token|key|secret|passw|credential|auth", re.IGNORECASE)
_KNOWN_FORM = re.compile(
    r"\b(?:hf_|sk-|ghp_|gho_|github_pat_|xox[abprs]-|glpat-|AKIA)[A-Za-z0-9_-]{8,}"
)
_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")


def redacted(words: Sequence[str]) -> list[str]:
    """Returns a command line without the values that look secret.

    The value of an option or variable whose name speaks of a token, key, secret, password,
    credential or authorisation goes, as `--api-key X`, `--api-key=X` or `API_KEY=X`; so does what
    has the form of a well-known token, and the user part of a URL.
    """
    found = []
    hide_next = False
    for word in words:
        if hide_next and not word.startswith("-"):
            found.append(REDACTED)
            hide_next = False
            continue
        name, equals, _ = word.partition("=")
        secret = _SECRET.search(name) is not None
        if secret and equals:
            found.append(f"{name}={REDACTED}")
        else:
            found.append(_IN_URL.sub(f"{REDACTED}@", _KNOWN_FORM.sub(REDACTED, word)))
        hide_next = secret and not equals and word.startswith("-")
    return found
