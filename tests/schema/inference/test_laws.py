"""Laws of inferred schemas, on random documents: every document is valid, by lxml's judgement."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, assume, event, given, settings, strategies as st

from heptox.errors import SchemaError
from heptox.schema import extend_dtd, extend_xsd, infer_dtd, infer_xsd, parse_dtd, random_document
from tests.schema.inference.judging import documents, dtd_faults, dtds, plain, xsd_faults


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_an_inferred_xsd_admits_its_documents(found: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        assert not xsd_faults(Path(folder), infer_xsd((text, None) for text in found), found)
        assert not xsd_faults(Path(folder), infer_xsd(((text, None) for text in found), constraints=True), found)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_an_inferred_dtd_admits_its_documents(found: list[bytes]) -> None:
    try:
        text = infer_dtd((text, None) for text in found)
    except SchemaError as error:
        event(error.faults[0].code)
        assume({fault.code for fault in error.faults} != {"HX2061"})
        raise
    assert not dtd_faults(text, found)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents(), documents())
def test_an_extended_xsd_admits_old_and_new_documents(old: list[bytes], new: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder)
        assume(not any(b"xsi:type" in text for text in [*old, *new]))
        assert not xsd_faults(path, infer_xsd((text, None) for text in old), old)
        files, changed = extend_xsd(str(path / "schema.xsd"), [(text, None) for text in new])
        assert not xsd_faults(path, files, [*old, *new])
        again, nothing = extend_xsd(str(path / "schema.xsd"), [(text, None) for text in [*old, *new]])
        assert not nothing, (changed, nothing)
        assert again.keys() == files.keys()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(dtds(), documents(), dtds(), st.randoms(use_true_random=False))
def test_an_extended_dtd_admits_old_and_new_documents(
    dtd: str, documents: list[bytes], other: str, random: Random
) -> None:
    found = [plain(document) for document in documents]
    found += [random_document(parse_dtd(other, "a"), random, repeats=2, elements=20).encode() for _ in range(3)]
    text, _ = extend_dtd(dtd, [(document, None) for document in found])
    old = [random_document(parse_dtd(dtd, "a"), random, repeats=2, elements=30).encode() for _ in range(10)]
    assert not dtd_faults(text, [*found, *old])
    assert extend_dtd(text, [(document, None) for document in [*found, *old]])[1] == ()


def test_an_extended_dtd_admits_old_and_new_documents_where_names_repeat_in_models() -> None:
    extended = 0
    for seed in range(150):
        random = Random(seed)
        dtd = f"<!ELEMENT a ({_model(random, 3)})> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY>"
        try:
            graph = parse_dtd(dtd, "a")
        except SchemaError:  # not deterministic
            continue
        children = "".join(f"<{random.choice('bcde')}/>" for _ in range(random.randint(0, 4)))
        new = f"<a>{children}</a>".encode()
        text, changed = extend_dtd(dtd, [(new, None)])
        extended += bool(changed)
        assert not dtd_faults(text, [new, *(random_document(graph, random).encode() for _ in range(8))])
    assert extended > 10


def _model(random: Random, depth: int) -> str:
    sign = random.choice(["", "", "?", "*", "+"])
    if not depth or random.random() < 0.3:
        return random.choice("bcd") + sign
    between = random.choice([", ", " | "])
    return f"({between.join(_model(random, depth - 1) for _ in range(random.randint(1, 3)))}){sign}"
