"""The words of whole Arrow columns as flat arrays: the fast path of the analyser.

One kernel reads the bytes. A word that cannot be folded character by character (combining marks, ligatures, …) leaves
a placeholder; the distinct raw forms among them are asked of the reference, each once, and put in their places.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.text import text_kernels as kernels
from feedweir.text.characters import tables
from feedweir.text.placed_words import stems, words

_FEW_BYTES = 1 << 14
"""Texts up to this size get room for a word at every byte: counting first would take longer."""
VALUE_GAP = 100
"""How far positions jump between two values of a list, so that no phrase reaches from one into the next."""


@dataclass(frozen=True)
class Tokens:
    """The words of n rows. Token i of row r, for `offsets[r] <= i < offsets[r + 1]`, is the UTF-8 bytes
    `text[starts[i] : starts[i] + lengths[i]]`; words are equal when their bytes are, `hashes` only suggest
    it."""

    offsets: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    text: NDArray[np.uint8]
    """Words lie where they stood in the text; what is between them is not used."""
    row_values: NDArray[np.int64]
    """The values of row r are `row_values[r]` to `row_values[r + 1]`,"""
    value_tokens: NDArray[np.int64]
    """and the tokens of value v are `value_tokens[v]` to `value_tokens[v + 1]`."""

    @cached_property
    def positions(self) -> NDArray[np.int32]:
        """The place of each token in its row, from 0; consecutive within a value, `VALUE_GAP` further in the next.

        Only phrases need it, so it is computed on first use.
        """
        positions = np.empty(len(self.hashes), np.int32)
        kernels.place(self.row_values, self.value_tokens, VALUE_GAP, positions)
        return positions

    def __len__(self) -> int:
        """How many rows."""
        return len(self.offsets) - 1

    def word(self, token: int) -> str:
        """One token as a string."""
        start = self.starts[token]
        return bytes(self.text[start : start + self.lengths[token]]).decode()

    def words(self, row: int) -> list[str]:
        return [self.word(token) for token in range(self.offsets[row], self.offsets[row + 1])]


@dataclass(slots=True)
class FormCache:
    """The words of raw forms that need their context (combining marks, ligatures, …), each computed once.
    It is emptied when full, which never changes an answer."""

    max_forms: int = 100_000
    known: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)

    def words(self, form: bytes) -> tuple[bytes, ...]:
        result = self.known.get(form)
        if result is None:
            result = tuple(word.encode() for word in words(form.decode()))
            if len(self.known) >= self.max_forms:
                self.known.clear()
            self.known[form] = result
        return result


FORMS = FormCache()
"""The cache of this process."""


class RawTexts(NamedTuple):
    """Texts to be analysed: value v is the UTF-8 `data[offsets[v] : offsets[v + 1]]`, row r has the values
    `row_values[r]` to `row_values[r + 1]`; from the byte `html` on it is HTML."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    row_values: NDArray[np.int64]
    html: int


def analyse(
    column: pa.Array | pa.ChunkedArray, *, is_html: bool = False, language: str = "", forms: FormCache = FORMS
) -> Tokens:
    """The words of every row of a column of strings or of lists of strings; a null has none."""
    tokens = analyse_raw(raw_column(column, is_html=is_html), forms)
    return _stemmed(tokens, language) if language else tokens


def analyse_raw(raw: RawTexts, forms: FormCache = FORMS) -> Tokens:
    """The words of texts from any source."""
    scanned = _scanned(raw, forms)
    return replace(scanned, offsets=scanned.offsets[raw.row_values], row_values=raw.row_values)


def distinct(tokens: Tokens) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(`ids`, `firsts`): equal words have equal ids, numbered by first sight, which was at token
    `firsts[id]`."""
    return _distinct(tokens.text, tokens.starts, tokens.lengths, tokens.hashes)


def raw_column(column: pa.Array | pa.ChunkedArray, *, is_html: bool) -> RawTexts:
    """The texts of a column, without copying them; one of plain strings has one value a row."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        counts = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        row_values = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        array = array.flatten()
    else:
        row_values = np.arange(len(array) + 1, dtype=np.int64)
    data, offsets = _bytes_of(array)
    return RawTexts(data, offsets, row_values, 0 if is_html else len(data))


def _bytes_of(values: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The UTF-8 bytes of strings and where each begins among them, without copying the bytes."""
    if not (pa.types.is_large_binary(values.type) or pa.types.is_binary(values.type)):
        values = values.cast(pa.string()) if not pa.types.is_large_string(values.type) else values
    if values.null_count:
        values = pc.fill_null(
            values, pa.scalar("" if not pa.types.is_binary(values.type) else b"", values.type)
        )
    is_large = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    _, offsets, data = values.buffers()
    if offsets is None or len(values) == 0:
        return np.zeros(0, np.uint8), np.zeros(len(values) + 1, np.int64)
    every_offset = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    used = every_offset[values.offset : values.offset + len(values) + 1].astype(np.int64)
    every_byte = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return every_byte[used[0] : used[-1]], used - used[0]


@dataclass(frozen=True, slots=True)
class _Units:
    """Words that need their context: their placeholder tokens, and where their raw bytes are in the input."""

    tokens: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def _scanned(raw: RawTexts, forms: FormCache) -> Tokens:
    """Tokens with offsets of values; words that need their context are resolved through `forms`."""
    data, offsets, size = raw.data, raw.offsets, len(raw.data)
    if not size:
        return _no_tokens(len(offsets))
    text = np.empty(size + kernels.PADDING, np.uint8)
    text[size:] = 0
    n_odd = 0
    if raw.html:
        n_odd = kernels.fold_bytes(data[: raw.html], False, text)
    if raw.html < size:
        n_odd += kernels.fold_bytes(data[raw.html :], True, text[raw.html :])
    # no word begins but where a folded one does, at another character, or with a value
    few = size <= _FEW_BYTES
    n_most = size if few else kernels.count_starts(text, size) + n_odd + len(offsets)
    tokens, units = _scan(data, offsets, text, n_most, n_odd)
    return _with_forms(tokens, data, units, forms) if len(units.tokens) else tokens


def _no_tokens(n_offsets: int) -> Tokens:
    none, offsets = np.empty(0, np.int64), np.zeros(n_offsets, np.int64)
    text = np.empty(0, np.uint8)
    return Tokens(offsets, np.empty(0, np.uint64), none, np.empty(0, np.int32), text, none, offsets)


def _scan(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
    max_tokens: int,
    max_units: int,
) -> tuple[Tokens, _Units]:
    value_tokens = np.empty(len(offsets), np.int64)
    hashes, starts = np.empty(max_tokens, np.uint64), np.empty(max_tokens, np.int64)
    lengths = np.empty(max_tokens, np.int32)
    units = _Units(*(np.empty(max_units, np.int64) for _ in range(3)))
    characters = tables()
    n, n_units = kernels.scan(
        data, offsets, characters.classes, characters.folds, kernels.ENTITY_BYTES, kernels.ENTITY_OFFSETS,
        text, value_tokens, hashes, starts, lengths, units.tokens, units.starts, units.lengths,
    )  # fmt: skip
    found = _Units(units.tokens[:n_units], units.starts[:n_units], units.lengths[:n_units])
    # the caller sets which values belong to each row
    return Tokens(value_tokens, hashes[:n], starts[:n], lengths[:n], text, value_tokens, value_tokens), found


def _with_forms(tokens: Tokens, data: NDArray[np.uint8], units: _Units, forms: FormCache) -> Tokens:
    """Replace every placeholder by the words of its raw form, each distinct form resolved once."""
    hashes = np.empty(len(units.tokens), np.uint64)
    kernels.hash_all(data, units.starts, units.lengths, hashes)
    ids, firsts = _distinct(data, units.starts, units.lengths, hashes)
    results = [
        forms.words(data[start : start + length].tobytes())
        for start, length in zip(units.starts[firsts].tolist(), units.lengths[firsts].tolist(), strict=True)
    ]
    counts = np.array([len(result) for result in results], np.int64)
    lexicon = _lexicon([word for result in results for word in result], len(tokens.text))
    text = np.concatenate([tokens.text, lexicon.text])
    if (counts == 1).all():
        tokens.hashes[units.tokens] = lexicon.hashes[ids]
        tokens.starts[units.tokens] = lexicon.starts[ids]
        tokens.lengths[units.tokens] = lexicon.lengths[ids]
        return replace(tokens, text=text)
    return replace(_spliced(tokens, ids, counts, lexicon), text=text)


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """Some words as arrays: what `Tokens` holds, without rows."""

    hashes: NDArray[np.uint64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    text: NDArray[np.uint8]


def _lexicon(found: list[bytes], text_start: int) -> _Lexicon:
    """Words as arrays; their text will stand at `text_start` of a longer one."""
    lengths = np.array([len(word) for word in found], np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    text = np.frombuffer(b"".join(found), np.uint8)
    hashes = np.empty(len(found), np.uint64)
    kernels.hash_all(text, starts, lengths, hashes)
    return _Lexicon(hashes, starts + text_start, lengths, text)


def _spliced(tokens: Tokens, ids: NDArray[np.int32], counts: NDArray[np.int64], lexicon: _Lexicon) -> Tokens:
    """Tokens in which the k-th placeholder has become the `counts[ids[k]]` words of its form."""
    n = len(tokens.hashes) - len(ids) + int(counts[ids].sum())
    offsets, hashes = np.empty_like(tokens.offsets), np.empty(n, np.uint64)
    starts, lengths = np.empty(n, np.int64), np.empty(n, np.int32)
    form_offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    kernels.splice(
        tokens.offsets, tokens.hashes, tokens.starts, tokens.lengths, ids,
        form_offsets, lexicon.hashes, lexicon.starts, lexicon.lengths,
        offsets, hashes, starts, lengths,
    )  # fmt: skip
    return replace(
        tokens, offsets=offsets, value_tokens=offsets, hashes=hashes, starts=starts, lengths=lengths
    )


def _distinct(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.integer],
    hashes: NDArray[np.uint64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    ids, firsts = np.empty(len(starts), np.int32), np.empty(len(starts), np.int64)
    count = kernels.distinct(text, starts, lengths, hashes, ids, firsts)
    return ids, firsts[:count]


def _stemmed(tokens: Tokens, language: str) -> Tokens:
    """Tokens with every word cut to its stem; each distinct word is stemmed once."""
    ids, firsts = distinct(tokens)
    found = stems([tokens.word(first) for first in firsts], language)
    lexicon = _lexicon([stem.encode() for stem in found], 0)
    return replace(
        tokens,
        hashes=lexicon.hashes[ids],
        starts=lexicon.starts[ids],
        lengths=lexicon.lengths[ids],
        text=lexicon.text,
    )
