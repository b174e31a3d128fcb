"""Random documents of schemas that are made to be large."""

from __future__ import annotations

from random import Random

import pytest

from heptox.schema import parse_dtd, random_document


def test_a_schema_of_which_each_document_is_huge_has_none_within_reach() -> None:
    levels = "".join(f"<!ELEMENT a{level} ({', '.join([f'a{level + 1}'] * 8)})>" for level in range(11))
    schema = parse_dtd(f"{levels}<!ELEMENT a11 EMPTY>")
    with pytest.raises(ValueError, match=r"no document of a0 has fewer than 20,000 elements"):
        random_document(schema, Random(1), elements=10)
