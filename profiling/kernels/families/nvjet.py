"""cuBLAS's nvjet kernels, Hopper and later: every word of the name stands for one choice.

Source: measured. `scripts/name_experiments.py` launched 3,734 of them on an H200 through cuBLASLt
and laid each name beside what was asked for and what cuBLASLt says of the algorithm.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading, Token

_LETTERS = {
    "h": "f16", "t": "bf16", "s": "f32", "q": "e4m3", "r": "e5m2", "o": "e2m1", "d": "f64",
    "b": "i8", "i": "i32",
}  # fmt: skip
_TYPE_KEYS = {
    3: ("dtype_a", "dtype_acc", "dtype_out"),
    5: ("dtype_a", "dtype_b", "dtype_c", "dtype_acc", "dtype_out"),
}
_PAIR_KEYS = (("tile_m", "tile_n"), ("tile_k", "stages"))
_PAIR = re.compile(r"([0-9]{1,6})x([0-9]{1,6})\Z")
_CLUSTER = re.compile(r"([0-9]{1,6}x[0-9]{1,6})(f?)\Z")
_TRIPLE = re.compile(r"([0-9]{1,6})x([0-9]{1,6})x([0-9]{1,6})\Z")
_ARCH = re.compile(r"sm([0-9]{2,3}[af]?)\Z")
_OPS = re.compile(r"[NT]{3,4}\Z")
_VECTOR = re.compile(r"([AB])vec([0-9]{1,4})([A-Z0-9]+)\Z")
_EPILOGUE = re.compile(r"(?:d?relu|d?gelu|bgrad[ab]?|aux|bias)+([a-z]?)\Z")
_EPILOGUE_WORD = re.compile(r"d?relu|d?gelu|bgrad[ab]?|aux|bias")
_AUX_TYPE = re.compile(r"aux([a-z])\Z")
_BETA = {"bz": "zero", "bx": "nonzero"}
_NOTES = {
    "h": "neighbouring tiles follow each other along N (BLAS view)",
    "v": "neighbouring tiles follow each other along M (BLAS view)",
    "badd": "the product is added to C (beta is 1)",
    "algo2": "8-bit products without fast accumulation",
    "tmaAB": "A and B are fetched by TMA (probably)",
}


def read_nvjet(reading: Reading) -> None:
    """Reads `nvjet_[<arch>_]<types>_<M>x<N>_<K>x<S>_<CM>x<CN>_..._<xyz>`.

    The kernels of consumer Blackwell have sizes of their own: `mma_<M>x<N>x<K>_<n>_<inner tile>`.
    """
    reading.be("cublas_nvjet", "nvidia", "measured: scripts/name_experiments.py")
    words = reading.words()[1:]
    if words and (arch := _ARCH.match(words[0].text)):
        reading.take("arch", f"sm_{arch.group(1)}", words[0])
        words = words[1:]
    if not words:
        return
    _read_types(reading, words[0])
    reading.put("tensor_core", True, reading.start, reading.start + len("nvjet"))
    if len(words) > 1 and words[1].text == "mma":
        words = _read_mma_sizes(reading, words[2:])
    else:
        words = _read_sizes(reading, words[1:])
    epilogue: list[Token] = []
    for word in words:
        if _EPILOGUE.match(word.text) and not _AUX_TYPE.match(word.text):
            epilogue.append(word)
        else:
            _read_word(reading, word, last=word is words[-1])
    if epilogue and not reading.cut:
        start, end = epilogue[0].start, epilogue[-1].end
        found = [part for word in epilogue for part in _EPILOGUE_WORD.findall(word.text)]
        reading.put("epilogue", tuple(found), start, end)


def _read_types(reading: Reading, word: Token) -> None:
    """Reads A (and B), then C, the type of alpha and beta, and D, a letter each."""
    keys = _TYPE_KEYS.get(len(word.text))
    if keys is None:
        reading.leave_unread(word.text)
        return
    for at, key in enumerate(keys, word.start):
        letter = reading.name[at]
        kind = _LETTERS.get(letter)
        if kind is None:
            reading.leave_unread(letter)
        elif key == "dtype_c":
            reading.notes.append(f"{letter} in the middle: C is {kind}")
        elif key == "dtype_acc" and word.text[0] == "b":
            # 8-bit integers are summed in i32 whatever this letter says.
            reading.notes.append(f"alpha and beta are {kind}; the type of the sums is not named")
        else:
            reading.put(key, kind, at, at + 1)
            if key == "dtype_a" and len(keys) == 3:
                reading.put("dtype_b", kind, at, at + 1)


def _read_sizes(reading: Reading, words: list[Token]) -> list[Token]:
    """Reads tile, K step and stages, and cluster; returns the words behind them."""
    for at, keys in enumerate(_PAIR_KEYS):
        pair = _PAIR.match(words[at].text) if at < len(words) else None
        if not pair:
            return words[at:]
        for key, size in zip(keys, pair.groups(), strict=True):
            reading.take(key, int(size), words[at])
    cluster = _CLUSTER.match(words[2].text) if len(words) > 2 else None
    if not cluster:
        return words[2:]
    reading.take("cluster", cluster.group(1), words[2])
    if cluster.group(2):
        reading.notes.append("f behind the cluster: not known (a fixed size, probably)")
    return words[3:]


def _read_mma_sizes(reading: Reading, words: list[Token]) -> list[Token]:
    """Reads the tile, the number behind it and the inner tile; returns the words behind them."""
    tile = _TRIPLE.match(words[0].text) if words else None
    if not tile:
        return words
    for key, size in zip(("tile_m", "tile_n", "tile_k"), tile.groups(), strict=True):
        reading.take(key, int(size), words[0])
    words = words[1:]
    if words and words[0].text.isdigit():
        reading.notes.append(f"{words[0].text}: buffers that the loads go round (probably)")
        words = words[1:]
    if words and _TRIPLE.match(words[0].text):
        reading.notes.append(f"{words[0].text}: the tile of one warp (probably)")
        words = words[1:]
    return words


def _read_word(reading: Reading, word: Token, *, last: bool) -> None:
    text = word.text
    if text == "2cta":
        reading.take("two_cta", True, word)
    elif text in _BETA:
        reading.take("beta", _BETA[text], word)
    elif text in ("coopA", "coopB"):
        reading.take("coop", text[-1], word)
    elif text == "splitK":
        reading.take("split_k", True, word)
    elif vector := _VECTOR.match(text):
        operand, block, kind = vector.groups()
        reading.take(f"scale_{operand.lower()}", f"{kind.lower()} per {block}", word)
    elif last and _OPS.match(text):
        reading.take("layout", text[:2].lower(), word)
    elif auxiliary := _AUX_TYPE.match(text):
        kind = _LETTERS.get(auxiliary.group(1), "of another type")
        reading.notes.append(f"{text}: the auxiliary output is {kind}")
    elif text in _NOTES:
        reading.notes.append(f"{text}: {_NOTES[text]}")
    else:
        reading.leave_unread(text)
