import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from textual.content import Content

from ptx.profiling.sanitise import clean, clean_multiline, escape_markup

ANY_TEXT = st.text(st.characters(categories=None))  # surrogates too
MARKUP_TEXT = st.lists(
    st.sampled_from([*"[]\\/=@#(), 'ab1", "red", "bold", "[/]", "[b]", "[on red]"])
).map("".join)

HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "clear-screen": "\x1b[2J\x1b[H",
    "window-title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "hyperlink": "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\",
    "device-control": "\x1bP+q544e\x1b\\",
    "c1-csi": "\x9b31mred",
    "c1-osc": "\x9d0;owned\x9c",
    "newline": "kernel\nfake row",
    "carriage-return": "kernel\rfake",
    "tab": "kernel\tcolumn",
    "vertical": "a\x0bb\x0cc",
    "backspace": "safe\x08\x08\x08\x08evil",
    "null": "a\x00b",
    "delete": "a\x7fb",
    "next-line": "a\x85b",
    "line-separator": "a\u2028b\u2029c",
    "right-to-left-override": "abc\u202egpj.exe",
    "embedding": "\u202aa\u202bb\u202cc\u202d",
    "isolate": "\u2066a\u2067b\u2068c\u2069",
    "marks": "a\u200eb\u200fc\u061cd",
    "high-surrogate": "a\ud83db",
    "low-surrogate": "a\ude00b",
}


def is_unsafe(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character)
        in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        or character in "\u200e\u200f\u061c"
    )


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_becomes_one_visible_encodable_line(text: str) -> None:
    cleaned = clean(text)

    assert not any(map(is_unsafe, cleaned))
    assert cleaned.isprintable()
    assert len(cleaned.splitlines()) == 1
    assert cleaned.encode().decode() == cleaned


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "␛[31m"),
        ("a\nb\tc\x00", "a␊b␉c␀"),
        ("a\x7f", "a␡"),
        ("a\x9b\u202e\ud800", "a\ufffd\ufffd\ufffd"),
    ],
)
def test_a_control_is_shown_by_its_picture(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    "text",
    ["", "aten::mm", "void at::native::f<4, (int)2>(float*)", "größe µs 日本 🙂 ▏…", "[red]x[/]"],
)
def test_clean_text_is_returned_as_the_same_object(text: str) -> None:
    assert clean(text) is text


@given(ANY_TEXT)
def test_cleaning_leaves_only_the_safe_and_changes_nothing_else(text: str) -> None:
    cleaned = clean(text)

    assert clean(cleaned) == cleaned
    assert len(cleaned) == len(text)
    assert all(
        not is_unsafe(new) and (new == old) != is_unsafe(old)
        for old, new in zip(text, cleaned, strict=True)
    )


@given(ANY_TEXT)
def test_multiline_keeps_line_feeds_and_nothing_else_unsafe(text: str) -> None:
    assert clean_multiline(text) == "\n".join(clean(line) for line in text.split("\n"))


@given(MARKUP_TEXT)
def test_escaped_text_is_shown_as_it_is_by_both_markups(text: str) -> None:
    # Alone, and between tags that are meant.
    for before, after in (("", ""), ("[b]", "[/b]")):
        markup = f"{before}{escape_markup(text)}{after}"
        for shown in (Content.from_markup(markup), Text.from_markup(markup, emoji=False)):
            assert shown.plain.replace("\u29f5", "\\") == text
            styled = [span for span in shown.spans if span.end > span.start]
            assert len(styled) == (1 if before and text else 0)


def test_a_backslash_away_from_brackets_stays() -> None:
    assert escape_markup(r"C:\x\y[1]") == r"C:\x\y" + "\\[1]"
    assert escape_markup("a\\[b\\") == "a\u29f5\\[b\u29f5"
