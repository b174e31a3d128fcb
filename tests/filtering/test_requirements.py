"""Which nodes of a document filters look at, with all that is in them or without, and how far apart these are."""

from __future__ import annotations

import pytest

from heptox.filtering import CleanedFilter, SchemaSteps, clean, read_filter
from heptox.schema import read_dtd
from tests.support.fixtures import FIXTURES

NEWS = SchemaSteps(read_dtd(FIXTURES / "chunking" / "news.dtd", "news"))


def cleaned(text: str) -> CleanedFilter:
    return clean(text, read_filter(text), NEWS)


def required(found: CleanedFilter) -> str:
    """The tag paths, each with a plus where all is needed that the elements have; ``anything`` for the document."""
    if found.required is None:
        return "anything"
    return " ".join(sorted("/".join(each.path) + "+" * each.whole for each in found.required))


@pytest.mark.parametrize(
    ("text", "expected", "anchor"),
    [
        ("/news/item", "news/item+", 2),
        ("/news/item[by]", "news/item+ news/item/by", 2),
        ("/news/item[not(by)]/title", "news/item/by news/item/title+", 2),
        ("/news/item[by = 'Ann']/title", "news/item/by+ news/item/title+", 2),
        ("/news/item[by != title]/@id", "news/item+ news/item/by+ news/item/title+", 2),
        ("/news/item[@lang = 'en']/title", "news/item/title+", 3),
        ("/news/item[by/@role = 'x']/title", "news/item/by news/item/title+", 2),
        ("/news/item[count(by) = 2]/title", "news/item/by news/item/title+", 2),
        ("/news/item[string(by) = '2']/title", "news/item/by+ news/item/title+", 2),
        ("/news/item[by[2]]/title", "news/item/by news/item/title+", 2),
        ("/news/item[by[. = 'x']]/title", "news/item/by news/item/by+ news/item/title+", 2),
        ("/news/item[text()]/title", "news/item+ news/item/title+", 2),
        ("/news/item[. = 'x']/title", "news/item+ news/item/title+", 2),
        ("/news/item[contains(., 'x')]/title", "news/item+ news/item/title+", 2),
        ("/news/item[string-length() > 2]/title", "news/item+ news/item/title+", 2),
        ("/news/item[*]/title", "news/item/body news/item/by news/item/title news/item/title+", 2),
        ("/news/item[body//b]/title", "news/item/body/b news/item/body/item/body+ news/item/title+", 2),
        ("/news/item[.//by]/title", "news/item/body/item+ news/item/by news/item/title+", 2),
        ("/news/item[body/b[. = 'x']]/title", "news/item/body/b news/item/body/b+ news/item/title+", 2),
        ("/news/item[2]/title", "news/item news/item/title+", 1),
        ("/news/item[last()]/title", "news/item news/item/title+", 1),
        ("/news/item/by[1]", "news/item/by news/item/by+", 2),
        ("/news/item[../head/by]/title", "news/head/by news/item/title+", 1),
        ("/news/item[../head/by = by]/title", "news/head/by+ news/item/by+ news/item/title+", 1),
        ("/news/item[/news/head/title = title]/title", "news/head/title+ news/item/title+", 0),
        ("/news/item[//head]/title", "news/head news/item/title+", 0),
        ("/news/item[following-sibling::part]/title", "news/item/title+ news/part", 1),
        ("/news/item[preceding-sibling::item[1] = .]/title", "news/item news/item+ news/item/title+", 1),
        ("/news/item[by/following-sibling::body]/title", "news/item/body news/item/by news/item/title+", 2),
        ("/news/item[body[2]/b]/title", "news/item/body news/item/body/b news/item/title+", 2),
        ("/news/item[by/../body]/title", "news/item/body news/item/by news/item/title+", 2),
        ("/news/item[by/@role/../../body]/title", "news/item/body news/item/by news/item/title+", 2),
        ("/news/item[body/b/ancestor::news]/title", "news/item/body/b news/item/title+", 2),
        ("/news/item[ancestor::news]/title", "news/item/title+", 3),
        ("/news/item/title[../by]", "news/item/by news/item/title+", 2),
        ("/news/item/title[. = ../by]", "news/item/by+ news/item/title+", 2),
        ("/news/item[name() = 'item']/title", "news/item/title+", 3),
        ("/news/item[body/text()]/title", "news/item/body+ news/item/title+", 2),
        ("/news/item[body/node()]/title", "news/item/body+ news/item/body/b news/item/body/item news/item/title+", 2),
        ("/news/item[title | by]/title", "news/item/by news/item/title news/item/title+", 2),
        ("/news/item[(title | by) = 'x']/title", "news/item/by+ news/item/title+", 2),
        ("/news/item[(by)[1]]/title", "news/item/by news/item/title+", 2),
        ("/news/item[title and not(by = 'x')]/@id", "news/item+ news/item/by+ news/item/title", 2),
        ("/news/item[sum(by) > 1]/title", "news/item/by+ news/item/title+", 2),
        ("/news/item[zz or by]/title", "news/item/by news/item/title+", 2),
    ],
)
def test_what_tells_whether_a_node_is_selected(text: str, expected: str, anchor: int) -> None:
    """With what is selected; ``anchor`` is the depth of the element in which all of it is, beside ancestors."""
    found = cleaned(text)
    assert required(found) == expected
    assert [branch.anchor for branch in found.branches or ()] == [anchor]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/news/item[following::part]/title", "anything"),
        ("/news/item[lang('en')]/title", "anything"),
        ("count(/news/item)", "news/item"),
        (
            "count(//by)",
            "news/head/by news/item/body/item+ news/item/by news/part/item/body/item+ news/part/item/by"
            " news/part/part+",
        ),
        ("string(/news/head/title)", "news/head/title+"),
        ("string(/)", "news+"),
        ("count(/news/head/../item)", "news/head news/item"),
        ("/news/head/title = /news/item/title", "news/head/title+ news/item/title+"),
        ("sum(/news/item/by)", "news/item/by+"),
        ("(/news/item)[2]", "news/item news/item+"),
        ("(/news/item/by)[1]/..", "news/item+ news/item/by"),
        ("id('i1')", "anything"),
    ],
)
def test_what_a_value_depends_on(text: str, expected: str) -> None:
    found = cleaned(text)
    assert found.branches is None
    assert required(found) == expected


def test_conditions_below_a_repeated_tag_may_look_beyond_it() -> None:
    for condition, path in (
        ("/news/head/title = .", ("news", "head", "title")),
        ("ancestor::news/head", ("news", "head")),
    ):
        branches = {str(branch): branch for branch in cleaned(f"/news/part//by[{condition}]").branches or ()}
        branch = branches[f"/news/part/part//by[{condition}]"]
        assert path in {each.path for each in branch.required}
        assert branch.anchor < 2
