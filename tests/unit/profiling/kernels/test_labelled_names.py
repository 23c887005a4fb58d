"""Real names with labels: how often family and fields agree, for each family."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ptx.profiling.kernels.decode import decode
from ptx.profiling.kernels.words import SHORT_COLUMNS

if TYPE_CHECKING:
    from ptx.profiling.kernels.model import FieldValue

FAMILY, PRECISION, RECALL = 0.998, 0.999, 0.995
"""What was reached; 0.99, 0.99 and 0.95 were asked for."""


def plain(value: FieldValue) -> object:
    return list(value) if isinstance(value, tuple) else value


def test_family_and_fields_agree_with_the_labels(labelled: list[dict[str, Any]]) -> None:
    right, read, stated, names, known = Counter[str](), Counter[str](), Counter[str](), 0, 0
    for row in labelled:
        kernel = decode(row["name"])
        names += 1
        known += kernel.family == row["family"]
        read[row["family"]] += len(kernel.fields)
        stated[row["family"]] += len(row["fields"])
        right[row["family"]] += sum(
            key in row["fields"] and row["fields"][key] == plain(value)
            for key, value in kernel.fields.items()
        )
    for family in sorted(stated):
        precision = right[family] / (read[family] or 1)
        recall = right[family] / (stated[family] or 1)
        print(f"{family:20} precision {precision:6.1%} recall {recall:6.1%}")
    assert known / names >= FAMILY
    assert right.total() / read.total() >= PRECISION
    assert right.total() / stated.total() >= RECALL
    assert all(right[family] / (read[family] or 1) >= 0.99 for family in stated)


def test_whole_names_lose_nothing_to_the_lengths_at_which_tools_cut(
    labelled: list[dict[str, Any]],
) -> None:
    for row in labelled:
        whole, guessed = decode(row["name"], cut=False), decode(row["name"])
        assert dict(guessed.fields).items() <= dict(whole.fields).items()


def test_wrappings_that_cleaning_removes_change_nothing(labelled: list[dict[str, Any]]) -> None:
    for row in labelled:
        name = row["name"].removeprefix("void ").removesuffix(".kd")
        plainly = decode(name, cut=False)
        for wrapped in (f"void {name}", f"  {name} ", f"{name} [clone .kernel]"):
            again = decode(wrapped, cut=False)
            assert (again.family, again.fields) == (plainly.family, plainly.fields), wrapped


def test_every_field_comes_from_a_place_in_the_name(labelled: list[dict[str, Any]]) -> None:
    for row in labelled:
        kernel = decode(row["name"])
        assert kernel.spans.keys() == kernel.fields.keys()
        assert all(0 <= a < b <= len(kernel.name) for a, b in kernel.spans.values()), row["name"]


def test_short_forms_fit_their_column_and_sentences_are_one_line(
    labelled: list[dict[str, Any]],
) -> None:
    for row in labelled:
        kernel = decode(row["name"])
        assert 0 < len(kernel.short) <= SHORT_COLUMNS
        assert kernel.short.isprintable()
        assert kernel.text.isprintable()
        assert kernel.text.endswith(".")
        assert kernel.category in "GAPRCMXO"
        assert kernel.rule


def test_a_name_cut_and_marked_never_yields_a_wrong_field(labelled: list[dict[str, Any]]) -> None:
    # The launch template of a copy is that of every elementwise operator.
    narrower = {("aten_copy", "aten_elementwise")}
    for number, row in enumerate(labelled):
        name = row["name"]
        whole = decode(name, cut=False)
        for at in range(1 + number % 7, len(name), 1 + len(name) // 24):
            for kernel in (decode(name[:at], cut=True), decode(name[:at] + "...")):
                assert not kernel.complete
                assert dict(kernel.fields).items() <= dict(whole.fields).items(), name[:at]
                pair = (whole.family, kernel.family)
                assert kernel.family in (whole.family, "unknown") or pair in narrower, name[:at]
