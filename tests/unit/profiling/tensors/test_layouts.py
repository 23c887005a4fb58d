from __future__ import annotations

import pytest

from ptx.profiling.tensors.inputs import Tensor
from ptx.profiling.tensors.layouts import layout_of


@pytest.mark.parametrize(
    ("shape", "strides", "word"),
    [
        ((), (), "scalar"),
        ((4, 8), None, "not recorded"),
        ((4, 8), (8, 1), "contiguous"),
        ((4, 1, 8), (8, 99, 1), "contiguous"),
        ((0, 8), (3, 5), "contiguous"),
        ((4, 8), (1, 4), "transposed"),
        ((2, 3, 4), (12, 1, 3), "transposed"),
        ((2, 8, 12, 12), (1152, 1, 96, 8), "channels_last"),
        ((2, 8, 3, 4, 5), (480, 1, 160, 40, 8), "channels_last_3d"),
        ((2, 1, 12, 12), (144, 1, 12, 1), "contiguous"),
        ((16, 64), (0, 1), "broadcast"),
        ((1, 8), (0, 1), "broadcast"),
        ((4, 8), (16, 2), "strided"),
        ((4, 8), (9, 1), "strided"),
        ((4, 8), (1, 5), "strided"),
        ((5, 3), (1, 1), "overlapping"),
        ((5, 3), (2, 1), "overlapping"),
    ],
)
def test_a_layout_has_the_word_that_its_strides_tell(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, word: str
) -> None:
    assert layout_of(Tensor("f32", shape, strides)) == word
