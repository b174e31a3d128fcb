"""What filtering is estimated to cost."""

from __future__ import annotations

from io import BytesIO

from heptox.filtering import PIECE, FilterSet, Sizes, choose, estimates, sample_sizes
from heptox.schema import parse_dtd

SCHEMA = parse_dtd(
    "<!ELEMENT a (b*, c*, d*)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)> <!ELEMENT d (e*)> <!ELEMENT e EMPTY>"
)
DOCUMENT = f"<a>{'<b>12345</b>' * 100}{'<c>1</c>' * 50}<d><e/><e></e></d></a>".encode()


def filters(*texts: str) -> FilterSet:
    made = FilterSet(SCHEMA)
    for number, text in enumerate(texts):
        made.add(number, text)
    return made


def test_sizes_are_those_of_the_elements() -> None:
    sizes = sample_sizes(BytesIO(DOCUMENT))
    assert sizes.total == len(DOCUMENT)
    assert (sizes.of(("a", "b")), sizes.of(("a", "c")), sizes.of(("a", "x"))) == (1200, 400, 0)
    assert sizes.of(("a",)) == len(DOCUMENT)


def test_a_sample_ends_where_it_is_to() -> None:
    long = b"<a>" + b"<b>12345</b>" * 200_000
    sizes = sample_sizes(BytesIO(long), most=1 << 20)
    assert 1 << 20 <= sizes.total < 1 << 21
    assert sizes.of(("a", "b")) / sizes.total > 0.99


def test_what_is_no_document_is_sampled_as_far_as_it_goes() -> None:
    assert sample_sizes(BytesIO(b"")).total == 1
    assert sample_sizes(BytesIO(b"<a><b>1</b></c>")).of(("a", "b")) == 8


def test_many_different_filters_are_chunked_and_few_are_not() -> None:
    sizes = sample_sizes(BytesIO(DOCUMENT))
    few = choose(filters("/a/b"), [1000], sizes)
    assert few[0].degree is None
    texts = [f"/a/{tag}[. > {number}]" for number in range(300) for tag in "bc"]
    many = choose(filters(*texts), [PIECE], sizes)
    assert many[0].degree == 2
    assert [each.seconds for each in many] == sorted(each.seconds for each in many)


def test_large_documents_are_cut_unless_it_is_asked_for_otherwise() -> None:
    sizes = sample_sizes(BytesIO(DOCUMENT))
    assert None not in {each.degree for each in choose(filters("/a/b", "//c"), [PIECE + 1], sizes)}
    assert [each.degree for each in choose(filters("/a/b"), [PIECE + 1], sizes, degrees=[None])] == [None]


def test_processes_are_worth_starting_for_much_work() -> None:
    texts = [f"/a/b[. > {number}]" for number in range(300)] + [f"/a/c[. > {number}]" for number in range(300)]
    sizes = Sizes(10.0, {("a",): 10.0, ("a", "b"): 5.0, ("a", "c"): 5.0})
    assert choose(filters(*texts), [100 * PIECE], sizes, (1, 2))[0].processes == 2
    assert choose(filters(*texts), [1000], sizes, (1, 2))[0].processes == 1


def test_what_filters_share_is_counted_once() -> None:
    sizes = sample_sizes(BytesIO(DOCUMENT))
    alike = filters(*[f"/a/b[. = '{number}']" for number in range(100)])
    apart = filters(*[f"/a/b[. > {number}]" for number in range(100)])
    of_alike, of_apart = (estimates(each.plan(1, sizes), [1 << 20], sizes)[0].seconds for each in (alike, apart))
    assert of_alike < of_apart / 3


def test_estimates_read_as_sentences() -> None:
    sizes = Sizes()
    one, two = (
        choose(filters("/a/b"), [1], sizes, (number,), degrees=[degree])[0] for number, degree in ((1, 1), (2, None))
    )
    assert str(one) == "0.00 s: 1 chunk, in this process"
    assert str(two).endswith(" s: whole documents, in 2 processes")
