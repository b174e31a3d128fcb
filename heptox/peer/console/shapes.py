"""What the console's operations take and give, by shape, as in :mod:`heptox.peer.models.control`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool

from heptox.errors import Fault
from heptox.peer.models.control import Exact
from heptox.peer.wire.standing import Side
from heptox.schema import AttributeType, Cardinality, ValueType

# -- sessions --------------------------------------------------------------------------------------------------------


class SessionRequest(Exact):
    """The ticket by which a session begins."""

    ticket: str


class SessionModel(Exact):
    """The token of a session, which serves as the peer's own does, until the daemon ends."""

    token: str


# -- schemas ---------------------------------------------------------------------------------------------------------


class SchemaRequest(Exact):
    """The text of a DTD, of an XSD that needs no other file, or of a schema graph; ``file`` is what messages call it,
    ``root`` is needed where several elements may be it."""

    text: str
    file: str | None = None
    root: str | None = None


class ChildModel(Exact):
    """An element below another, how often it stands there, and its ``type`` where that is not what it is called."""

    name: str
    cardinality: Cardinality
    type: str


class AttributeModel(Exact):
    """An attribute, ``1`` when every element has it; ``values`` are those that an enumeration allows."""

    name: str
    type: AttributeType
    cardinality: Cardinality
    default: str | None
    fixed: bool
    values: list[str]
    value_type: ValueType
    documentation: str


class ElementTypeModel(Exact):
    """An element type; whether it holds ``text`` itself, which is of a ``value_type``, and one of the ``values`` where
    there are some. ``type`` is what the schema calls it where one name has several types. Where it is ``open``,
    anything else may stand in it."""

    name: str
    type: str
    text: bool
    open: bool
    value_type: ValueType
    values: list[str]
    documentation: str
    children: list[ChildModel]
    attributes: list[AttributeModel]


class SchemaModel(Exact):
    """A schema, its ``text``, and its element types in the schema's order; ``roots`` are those that might be its root,
    of which ``type`` is the element type. Names are written with ``prefixes``, those of roots with the schema's own."""

    file: str | None
    root: str
    roots: list[str]
    type: str
    text: str
    prefixes: dict[str, str]
    elements: list[ElementTypeModel]


# -- drawings --------------------------------------------------------------------------------------------------------


class DrawingModel(Exact):
    """A mapping in work: its name, its text, and those of the schemas that it names, by file."""

    name: str
    text: str
    files: dict[str, str]


class DrawingRequest(Exact):
    """What to keep as a mapping in work. It is refused if it is said to be ``new`` and there is one of that name, or if
    the text that is kept is another than the one ``before``, where that is said."""

    text: str
    files: dict[str, str]
    new: StrictBool = False
    before: str | None = None


class DrawingListed(Exact):
    """A mapping in work, and when it was kept last (UTC)."""

    name: str
    modified: Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class DrawingDropped(Exact):
    """The drawing that is kept no longer."""

    name: str


class MappingFilesModel(Exact):
    """The mapping to an acquaintance: ``files`` by name, ``mapping`` the one to load, ``side`` ours of it."""

    mapping: str
    side: Side
    files: dict[str, str]


# -- asking ----------------------------------------------------------------------------------------------------------


class QueryRequest(Exact):
    """The text of a query, in the words of the peer's own schema."""

    query: Annotated[str, Field(examples=["//Patient/Name"])]


class QueryChecked(Exact):
    """What is wrong with a query, or keeps it from being translated; positions are in its text."""

    faults: tuple[Fault, ...]


class LossModel(Exact):
    """What a translation does not carry: a schema path, or none for the query as a whole; the ``arrow`` would."""

    path: list[str]
    effect: str
    arrow: str | None


class MemberModel(Exact):
    """A member of a union, drawn as a tree and printed as a query."""

    tree: str
    text: str


class StepModel(Exact):
    """The union that a step of a translation makes."""

    name: str
    members: list[MemberModel]


class TranslationModel(Exact):
    """A query in an acquaintance's words; ``text`` is ``null`` where there is nothing to ask, or there are faults."""

    text: str | None
    losses: list[LossModel]
    steps: list[StepModel]
    faults: tuple[Fault, ...]
