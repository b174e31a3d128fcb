"""What is inferred from documents, case by case."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.errors import SchemaError
from heptox.schema import infer_dtd, infer_xsd
from heptox.schema.inference.expressions import Language, Sequences, chain_expression, shown
from heptox.schema.inference.values import ValueStatistics
from tests.schema.inference.judging import dtd_faults, xsd_faults


def inferred(*documents: str) -> str:
    return infer_xsd((text.encode(), None) for text in documents)["schema.xsd"]


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ("abc abbc ac", "a, b*, c"),
        ("ab ba", "(a | b)+"),
        ("ac bc", "(a | b), c"),
        ("abd bcd bbd ad", "a?, b*, c?, d"),
        ("ab acb", "a, c?, b"),
        ("a b cd", "(a | b)?, c?, d?"),
    ],
)
def test_content_models_are_chains(words: str, model: str) -> None:
    sequences = Sequences()
    for word in words.split():
        sequences.add(tuple(word))
    found = chain_expression([sequences])
    assert found is not None and shown(found) == model
    assert chain_expression([Language(found)]) == found


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ("1 20 -3", "integer"),
        ("007 008 009", "string"),
        ("20160404 20160405 20170101", "string"),
        ("1 2", "string"),
        ("1 2.50 3", "decimal"),
        ("1e5 2 3.5", "double"),
        ("true false true", "boolean"),
        ("2016-02-28 2016-02-29 2017-01-01Z", "date"),
        ("2016-02-28 2017-02-29 2017-01-01", "string"),
        ("12:00:00 23:59:59.5 00:00:00Z", "time"),
        ("2016-02-28T12:00:00 2016-02-28T12:00:00Z 2016-02-28T12:00:00.1+01:00", "dateTime"),
        ("http://a.org/b https://a.org http://a.org/?", "string"),
        ("http://a.org/b https://a.org http://a.org/c#", "string"),
        ("http://a.org/b https://a.org ftp://a.org/c", "anyURI"),
        ("-0 0 1", "decimal"),
        ("1 12345678901234567890 3", "string"),
    ],
)
def test_types_are_guessed_with_care(values: str, found: str) -> None:
    statistics = ValueStatistics()
    for value in values.split():
        statistics.add(value)
    assert statistics.type().name == found


def test_an_empty_value_is_a_string() -> None:
    assert '<xs:element name="b" type="xs:string"/>' in inferred("<a><b>1</b><b>2</b><b>3</b><b/></a>")


def test_enumerations_need_evidence() -> None:
    few = "".join(f'<b k="{"xy"[number % 2]}"/>' for number in range(10))
    assert "enumeration" not in inferred(f"<a>{few}</a>")
    assert '<xs:enumeration value="x"/>' in inferred(f"<a>{few * 4}</a>")


def test_a_name_may_have_a_local_type(tmp_path: Path) -> None:
    text = "<a><b><t>x</t></b><c><t><d/></t></c><c><t><d/></t></c></a>"
    files = infer_xsd([(text.encode(), None)])
    assert '<xs:element name="t" type="xs:string"/>' in files["schema.xsd"]
    assert not xsd_faults(tmp_path, files, [text.encode()])


def test_names_of_a_chain_of_local_types_are_one_type(tmp_path: Path) -> None:
    text = b"<a><t>x<t><t><d/></t></t></t></a>"
    assert not xsd_faults(tmp_path, infer_xsd([(text, None)]), [text])


def test_several_roots_are_global(tmp_path: Path) -> None:
    documents = [b"<a><c/></a>", b"<b><c/><c/></b>"]
    assert not xsd_faults(tmp_path, infer_xsd((text, None) for text in documents), documents)


def test_names_that_differ_in_their_namespace_are_different(tmp_path: Path) -> None:
    text = b'<a xmlns:p="urn:p" xmlns:q="urn:q"><p:b>1</p:b><q:b><c/></q:b><b k="1" p:k="x" q:k="y"/></a>'
    assert not xsd_faults(tmp_path, infer_xsd([(text, None)]), [text])
    assert not dtd_faults(infer_dtd([(text, None)]), [text])


def test_types_that_documents_name(tmp_path: Path) -> None:
    text = b"""<s xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xs="http://www.w3.org/2001/XMLSchema"
    xmlns:p="urn:p"><f xsi:type="circle"><r>1</r></f><f xsi:type="p:box" w="1"/><f>any</f>
    <f xsi:type="xs:date">2016-01-01</f></s>"""
    assert not xsd_faults(tmp_path, infer_xsd([(text, None)]), [text])


def test_what_cannot_be_of_its_own_types_is_named() -> None:
    text = b"""<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<b xsi:nil="maybe"/><b xsi:nil="true">x</b><b xsi:type="q:t"/></a>"""
    with pytest.raises(SchemaError) as raised:
        infer_xsd([(text, "a.xml")])
    assert [str(fault).partition(" (")[0] for fault in raised.value.faults] == [
        "a.xml:2:1: HX2064 b: xsi:nil is 'maybe'",
        "a.xml:2:1: HX2064 b: xsi:nil is true, and the element is not empty",
        "a.xml:2:1: HX2064 b: xsi:type has a prefix that is not declared",
    ]


def test_comments_hold_no_two_hyphens(tmp_path: Path) -> None:
    rows = "".join(f'<r--x i--d="k{number}"/>' for number in range(9))
    refs = "".join(f'<s to="k{number}"/>' for number in range(5))
    text = f"<a>{rows}{refs}</a>".encode()
    files = infer_xsd([(text, None)], constraints=True)
    assert "<!-- key: r- -x/@i- -d: 9 of 9 values differ -->" in files["schema.xsd"]
    assert '<xs:keyref name="reference-1" refer="key-1">' in files["schema.xsd"]
    assert not xsd_faults(tmp_path, files, [text])
    dtd = infer_dtd([(text, None)])
    assert "<!ATTLIST r--x i--d ID #REQUIRED>" in dtd and "<!ATTLIST s to IDREF #REQUIRED>" in dtd
    assert not dtd_faults(dtd, [text])


def test_constraints_hold_and_mean_something(tmp_path: Path) -> None:
    rows = "".join(f"<p:r><p:id>k{number}</p:id></p:r>" for number in range(9))
    refs = "".join(f"<p:s>k{number}</p:s>" for number in range(5))
    text = f'<p:a xmlns:p="urn:p">{rows}<p:t>{refs}</p:t></p:a>'
    files = infer_xsd([(text.encode(), None)], constraints=True)
    broken = [text.replace("<p:id>k8", "<p:id>k7").encode()]
    assert not xsd_faults(tmp_path, files, [text.encode()])
    assert len(xsd_faults(tmp_path, files, broken)) == 1


def test_small_numbers_are_no_references() -> None:
    rows = "".join(f'<r id="{number}"/>' for number in range(1, 30))
    assert "reference" not in inferred(f"<a>{rows}<s n='3'/><s n='4'/><s n='5'/><s n='6'/></a>")


def test_thousands_of_names(tmp_path: Path) -> None:
    tags = [f"<n{number}/>" for number in range(1500)]
    text = f"<a>{''.join(tags)}{''.join(reversed(tags))}</a>".encode()
    other = f"<a>{''.join(tags[::3])}</a>".encode()
    for documents in ([text, other], [other]):
        assert not dtd_faults(infer_dtd((each, None) for each in documents), documents)
        assert not xsd_faults(tmp_path, infer_xsd((each, None) for each in documents), documents)


def test_very_many_names_and_namespaces_are_bounded() -> None:
    names = "".join(f"<e{number}/>" for number in range(1001))
    assert "<!ELEMENT r (e0 | e1 | " in infer_dtd([(f"<r>{names}</r>".encode(), None)])
    spaces = "".join(f'<a xmlns="u:{number}"/>' for number in range(201))
    with pytest.raises(SchemaError, match="HX2033 the documents have names in 202 namespaces, more than 200"):
        infer_xsd([(f"<r>{spaces}</r>".encode(), None)])


def test_deep_documents(tmp_path: Path) -> None:
    text = (b"<a>" * 250) + (b"</a>" * 250)
    assert not xsd_faults(tmp_path, infer_xsd([(text, None)]), [text])
    chain = "".join(f"<n{number}>" for number in range(250)) + "".join(f"</n{number}>" for number in range(249, -1, -1))
    assert not dtd_faults(infer_dtd([(chain.encode(), None)]), [chain.encode()])


def test_a_wide_encoding_is_looked_at_as_any_other() -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><a xmlns="urn:a"><b xmlns="urn:a"><!-- c --></b></a>'
    document = text.encode("utf-16")
    assert not dtd_faults(infer_dtd([(document, None)]), [document])


def test_declarations_that_are_repeated_are_declared() -> None:
    documents = [
        b'<a xmlns="urn:a"><b xmlns="urn:a"/></a>',
        b'<a xmlns="urn:a" xmlns:q="urn:q"><b xmlns:q="urn:r"/></a>',
    ]
    assert not dtd_faults(infer_dtd((text, None) for text in documents), documents)


def test_defaults_of_a_document_are_not_required(tmp_path: Path) -> None:
    text = b"<!DOCTYPE a [<!ATTLIST a k CDATA 'd' m CDATA #IMPLIED>]><a m='1'><b k='1'/></a>"
    files = infer_xsd([(text, None)])
    assert '<xs:attribute name="k" type="xs:string"/>' in files["schema.xsd"]
    assert not xsd_faults(tmp_path, files, [text])  # lxml adds no defaults here
    assert not dtd_faults(infer_dtd([(text, None)]), [text])
