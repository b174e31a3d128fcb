"""Laws of inferred schemas, on random documents: every document is valid, by lxml's judgement."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, assume, event, given, settings

from heptox.errors import SchemaError
from heptox.schema import infer_dtd, infer_xsd
from tests.schema.inference.judging import documents, dtd_faults, xsd_faults


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_an_inferred_xsd_admits_its_documents(found: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        assert not xsd_faults(Path(folder), infer_xsd((text, None) for text in found), found)
        assert not xsd_faults(Path(folder), infer_xsd(((text, None) for text in found), constraints=True), found)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_an_inferred_dtd_admits_its_documents(found: list[bytes]) -> None:
    try:
        text = infer_dtd((text, None) for text in found)
    except SchemaError as error:
        event(error.faults[0].code)
        assume({fault.code for fault in error.faults} != {"HX2061"})
        raise
    assert not dtd_faults(text, found)
