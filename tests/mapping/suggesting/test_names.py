"""Names: their words, and how alike they are."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from heptox.mapping.suggesting.names import Names, same_words, word_similarity, words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AdmDate", ("adm", "date")),
        ("bldg_and_rm", ("bldg", "rm")),
        ("start-time.of.day", ("start", "time", "day")),
        ("XMLFile", ("xml", "file")),
        ("line2", ("line", "2")),
        ("ns:id", ("ns", "id")),
        ("the", ("the",)),
        ("_", ("_",)),
        ("ÉtatCivil", ("état", "civil")),
    ],
)
def test_words(name: str, expected: tuple[str, ...]) -> None:
    assert words(name) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [("qty", "quantity"), ("addr", "address"), ("tel", "telephone"), ("dept", "department"), ("order", "orders"),
     ("footnote", "note"), ("colour", "color"), ("mgr", "manager")],
)  # fmt: skip
def test_words_that_are_alike(one: str, other: str) -> None:
    assert word_similarity(one, other) >= 0.65


@pytest.mark.parametrize(
    ("one", "other"),
    [("name", "date"), ("no", "note"), ("street", "state"), ("1", "10"), ("a", "address"), ("left", "leave")],
)
def test_words_that_are_not(one: str, other: str) -> None:
    assert word_similarity(one, other) == 0


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_similarity_is_symmetric_and_greatest_for_the_same(one: str, other: str) -> None:
    names = Names([one, other])
    assert 0 <= names.similarity(one, other) <= 1
    assert names.similarity(one, other) == names.similarity(other, one)
    assert names.similarity(one, one) == pytest.approx(1)
    assert same_words(one, one)


def test_a_word_of_many_names_tells_little() -> None:
    names = Names(["start_time", "end_time", "run_time", "start_date", "time"])
    assert names.similarity("start_time", "start_date") > names.similarity("start_time", "end_time")


def test_the_same_letters_are_the_same_name() -> None:
    assert Names(["zip_code", "zipcode"]).similarity("zip_code", "zipcode") == 1


def test_initials() -> None:
    assert Names(["PO", "purchaseOrder", "p"]).similarity("PO", "purchaseOrder") == pytest.approx(0.8)


def test_a_name_is_read_with_that_of_its_owner() -> None:
    names = Names(["seller", "person", "buyer", "offer"])
    own = names.with_owners("person", "seller", "seller", "offer")
    assert own > 0.5 > names.similarity("person", "seller")
    assert own > names.with_owners("person", "buyer", "seller", "offer")
    assert own == names.with_owners("seller", "offer", "person", "seller")
