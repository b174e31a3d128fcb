"""How alike the names of two schemas are: the words of a name, their abbreviations, and how much a word is worth.

Names are compared as SoftTFIDF compares texts (Cohen, Ravikumar, Fienberg: A Comparison of String Distance Metrics for
Name-Matching Tasks, IIWeb 2003): each word with the word most like it on the other side, rare words counting for more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log
from typing import Final, TypeAlias

from rapidfuzz.distance import DamerauLevenshtein

Words: TypeAlias = tuple[str, ...]

_EMPTY_WORDS: Final = frozenset(("a", "an", "and", "for", "in", "of", "on", "the"))

_SYNONYMS: Final = (
    ("begin", "from", "start"),
    ("company", "firm", "organisation", "organization"),
    ("cost", "price"),
    ("end", "finish", "to"),
    ("gender", "sex"),
    ("id", "identifier", "key"),
    ("kind", "type"),
    ("link", "uri", "url"),
    ("mail", "email"),
    ("no", "nr", "number"),
    ("people", "person"),
    ("phone", "tel", "telephone"),
    ("postcode", "zip"),
    ("quantity", "qty"),
    ("surname", "lastname"),
)
"""Words that mean much the same wherever people describe data; no schema's own words."""

_GROUPS: Final = {word: number for number, group in enumerate(_SYNONYMS) for word in group}

_SHORTEST_PREFIX: Final = 3
_SHORTEST_PART: Final = 4
_LEAST_SPELLING: Final = 0.75
_OWNERS_SHARE: Final = 0.9


@lru_cache(maxsize=4096)
def words(name: str) -> Words:
    """The words of a name, in lower case: split by signs, digits and capitals.

    >>> words("AdmDate"), words("bldg_and_rm"), words("XMLName2"), words("of")
    (('adm', 'date'), ('bldg', 'rm'), ('xml', 'name', '2'), ('of',))
    """
    found: list[str] = []
    start = 0
    for place in range(1, len(name) + 1):
        if place == len(name) or _parts(name, place):
            found.append(name[start:place].casefold())
            start = place
    every = tuple(word for word in found if word[0].isalnum())
    return tuple(word for word in every if word not in _EMPTY_WORDS) or every or (name.casefold(),)


def _parts(name: str, place: int) -> bool:
    """Whether a word ends before ``place``."""
    before, here = name[place - 1], name[place]
    if not (before.isalnum() and here.isalnum()):
        return True
    if before.isdigit() != here.isdigit() or (here.isupper() and not before.isupper()):
        return True
    return here.isupper() and name[place + 1 : place + 2].islower()


@lru_cache(maxsize=1 << 17)
def word_similarity(one: str, other: str) -> float:
    """How alike two words are, from 0 to 1: the same, synonyms, one short for the other, or spelt nearly the same.

    >>> [round(word_similarity(*pair), 2) for pair in (("bldg", "building"), ("sect", "section"), ("sun", "moon"))]
    [0.8, 0.86, 0.0]
    """
    if one == other:
        return 1.0
    if one in _GROUPS and _GROUPS[one] == _GROUPS.get(other):
        return 0.9
    short, long = sorted((one, other), key=lambda word: (len(word), word))
    if short.isdigit() or long.isdigit():
        return 0.0
    return max(_abbreviation(short, long), _spelling(short, long))


def _abbreviation(short: str, long: str) -> float:
    if len(short) == len(long):
        return 0.0
    if len(short) >= _SHORTEST_PREFIX and long.startswith(short):
        return 0.75 + 0.2 * len(short) / len(long)
    if len(short) >= _SHORTEST_PART and long.endswith(short):
        return 0.7
    if len(short) > 1 and short[0] == long[0] and short[-1] == long[-1] and _is_within(short, long):
        return 0.8
    without_vowels = not set(short[1:]) & set("aeiou")
    return 0.8 if len(short) > 2 and without_vowels and short[0] == long[0] and _is_within(short, long) else 0.0


def _is_within(short: str, long: str) -> bool:
    """Whether the letters of the short word stand in the long one, in their order."""
    letters = iter(long)
    return all(letter in letters for letter in short)


def _spelling(one: str, other: str) -> float:
    similarity = DamerauLevenshtein.normalized_similarity(one, other, score_cutoff=_LEAST_SPELLING)
    return max(0.0, similarity - 0.1)


class Names:
    """Compares names, knowing all that occur: a word of many names is weak evidence."""

    def __init__(self, names: Iterable[str]) -> None:
        counts = Counter(word for name in set(names) for word in set(words(name)))
        self._weights = {word: 1 / (1 + log(count)) for word, count in counts.items()}
        self._known: dict[tuple[Words, Words], float] = {}

    def similarity(self, one: str, other: str) -> float:
        """How alike two names are, from 0 to 1.

        >>> names = Names(["start", "start_time", "end_time", "room"])
        >>> names.similarity("start", "start_time") > names.similarity("start", "end_time")
        True
        """
        return self._similarity(words(one), words(other))

    def with_owners(self, one: str, owner: str, other: str, other_owner: str) -> float:
        """How alike two names are when one may be read with its owner's: ``seller/@person``, ``@seller``."""
        first, second = words(one), words(other)
        alone = self._similarity(first, second)
        if alone > _OWNERS_SHARE:
            return alone
        extended = self._similarity(_joined(first, words(owner)), second)
        other_extended = self._similarity(first, _joined(second, words(other_owner)))
        return max(alone, _OWNERS_SHARE * extended, _OWNERS_SHARE * other_extended)

    def _similarity(self, one: Words, other: Words) -> float:
        pair = (one, other)
        if pair not in self._known:
            self._known[pair] = self._known[other, one] = max(self._soft(one, other), _as_one(one, other))
        return self._known[pair]

    def _soft(self, one: Words, other: Words) -> float:
        weights = [self._weights.get(word, 1.0) for word in (*one, *other)]
        best = [max(word_similarity(word, each) for each in other) for word in one]
        best += [max(word_similarity(word, each) for each in one) for word in other]
        # What is summed in another order may differ in its last digit, and the sides are to be alike.
        parts = sorted(weight * similarity for weight, similarity in zip(weights, best, strict=True))
        return sum(parts) / sum(sorted(weights))


def _joined(own: Words, owners: Words) -> Words:
    return (*own, *(word for word in owners if word not in own))


def _as_one(one: Words, other: Words) -> float:
    """Names that differ in where their words end, and initials."""
    if len(one) == len(other) == 1:
        return 0.0
    joined, other_joined = "".join(one), "".join(other)
    if joined == other_joined:
        return 1.0
    if joined in _GROUPS and _GROUPS[joined] == _GROUPS.get(other_joined):
        return 0.9
    initials = any(_are_initials(*pair) for pair in ((one, other), (other, one)))
    return 0.8 if initials else 0.0


def _are_initials(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) == 1 and len(other) > 1 and one[0] == "".join(word[0] for word in other)


def same_words(one: str, other: str) -> bool:
    """Whether two names have the same words in the same order."""
    return words(one) == words(other)
