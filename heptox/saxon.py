"""Saxon, the XQuery and XPath engine that others keep, so set up that it sees nothing but what it is given.

It is imported by processes that may be lost: what an expression costs in memory or time is for its caller to bound.
"""

from __future__ import annotations

import os
from typing import Final

from saxonche import PySaxonProcessor

_PROTOCOLS: Final = "http://saxon.sf.net/feature/allowedProtocols"
_PARSER: Final = "http://saxon.sf.net/feature/parserProperty?uri="
_ORACLE: Final = "http://www.oracle.com/xml/jaxp/properties/"
_UNLIMITED: Final = {
    f"{_PARSER}{prefix}{limit}": "0"
    for prefix in ("jdk.xml.", _ORACLE)
    for limit in (
        "maxGeneralEntitySizeLimit",
        "totalEntitySizeLimit",
        "maxElementDepth",
        "elementAttributeLimit",
        "maxXMLNameLimit",
    )
}
"""Its parser stops at some 100,000 references to entities, ``&amp;`` included, at 100 elements in each other, 200
attributes of one, and names of 1,000 characters; what is bounded was bounded before."""


def confined_processor(*, data: bool = False) -> PySaxonProcessor:
    """A processor whose expressions reach no file, no network, no module, and no variable of the environment.

    No protocol is allowed; with ``data``, URIs are that hold what they stand for.

    The environment of **this process** is emptied, for Saxon reads all of it when the first processor is made: it is
    for processes that need none.
    """
    os.environ.clear()
    processor = PySaxonProcessor(license=False)
    for name, value in ({_PROTOCOLS: "data" if data else ""} | _UNLIMITED).items():
        processor.set_configuration_property(name, value)
    return processor
