"""Makes text from a trace safe to show: the one sanitiser for every sink.

A trace is a file from somewhere else. Its names can hold escape sequences that drive the terminal,
line breaks that forge rows, controls that reverse the reading order and markup that restyles the
screen. Every text that reaches the screen, the pager, the clipboard or plain output passes through
`clean` once; text that is put inside markup also passes through `escape_markup`.
"""

from __future__ import annotations

import re

# C0, DEL, C1; bidirectional marks, embeddings, overrides and isolates; the line and paragraph
# separators, which break a line for str.splitlines and some viewers; lone surrogates, which no
# encoder accepts.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNSAFE_BUT_NEWLINE = re.compile(_UNSAFE.pattern.replace(r"\x00-\x1f", r"\x00-\x09\x0b-\x1f"))
_BACKSLASHES_BEFORE_BRACKET_OR_END = re.compile(r"\\+(?=\[|\Z)")

_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "\u2421"
_REPLACEMENT = "\ufffd"
_REVERSE_SOLIDUS_OPERATOR = "\u29f5"


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    return _DELETE_PICTURE if code == 0x7F else _REPLACEMENT


def clean(text: str) -> str:
    """Returns the text as one line without controls; each one becomes one visible character.

    C0 and DEL become their control pictures; C1, bidirectional controls, line and paragraph
    separators and lone surrogates become U+FFFD. Length is kept; clean text is returned as it is.
    """
    if _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(_visible, text)


def clean_multiline(text: str) -> str:
    """Returns the text like `clean`, with its line feeds kept."""
    return _UNSAFE_BUT_NEWLINE.sub(_visible, text)


def escape_markup(text: str) -> str:
    """Returns text that Textual's and rich's markup show as it is, wherever it is put.

    The two disagree about a backslash before a bracket, and Textual knows no escape for it. Such
    backslashes, and those at the end, which would meet whatever follows, become U+29F5, which
    looks alike. rich also replaces `:name:` by emoji unless it is told `emoji=False`.
    """

    def lookalikes(match: re.Match[str]) -> str:
        return _REVERSE_SOLIDUS_OPERATOR * len(match.group())

    return _BACKSLASHES_BEFORE_BRACKET_OR_END.sub(lookalikes, text).replace("[", "\\[")
