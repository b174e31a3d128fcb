"""What the console gets of a mapping in work."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool

from heptox.errors import Fault
from heptox.grammar import PartKind, Reading, Side
from heptox.peer.models.control import Exact
from heptox.schema import Test

MOST_TEXT: Final = 4 * 1024 * 1024
"""Characters of a mapping, or of a schema, at most."""
MOST_SAMPLES: Final = 8
"""Documents of one side that are compared at most."""

Text = Annotated[str, Field(max_length=MOST_TEXT)]
Steps = list[str]


class MappingRequest(Exact):
    """The text of an ``.arrows`` file, and the files that it names: schemas and tables of codes; ``sample`` is a
    document of the source schema, without which the peer's own records are taken, or else one is made: the same one for
    the same ``seed``. ``remarks`` on a large schema take long."""

    text: Text
    files: dict[str, Text]
    sample: str | None = None
    seed: Annotated[int, Field(ge=0, le=1 << 31)] = 0
    remarks: StrictBool = True


class BoxModel(Exact):
    """A box: its parent's path, and the line that declares it."""

    name: str
    parent: Steps
    members: list[str]
    line: int


class ReferenceModel(Exact):
    """Which key a leaf refers to; ``inferred`` if the schema itself says so."""

    source: Steps
    target: Steps
    inferred: bool


class ConditionModel(Exact):
    """A condition of a selection on a leaf of its node: ``values`` are those that it is compared with, if it is."""

    test: Test
    leaf: Steps
    values: list[str]


class SelectionModel(Exact):
    """A node that conditions select, beside the one that the last step of its ``path`` names without them."""

    path: Steps
    name: str
    tests: list[ConditionModel]


class SideModel(Exact):
    """One side of a mapping: its schema, the boxes drawn on it, the nodes that its lines select, the keys that are
    declared, and references; ``own`` if the peer holds documents of the schema. Steps of paths are written with the
    prefixes of the schema as it is drawn, ``prefixes`` are those of the mapping's text."""

    file: str | None
    root: str
    prefixes: dict[str, str]
    boxes: list[BoxModel]
    selections: list[SelectionModel]
    keys: list[Steps]
    references: list[ReferenceModel]
    own: bool


class PartModel(Exact):
    """A part of an arrow's line, from one place in it up to another; places count 16-bit units, as browsers do.

    ``node`` is the step whose ``conditions`` they are. A part is empty where something could stand there.
    """

    kind: PartKind
    begin: int
    end: int
    node: str = ""


class ArrowModel(Exact):
    """An arrow, or an ``each`` line, by its line: where it begins, nowhere if it leads out of a string, and where it
    ends, ``null`` where that is nowhere; ``sound`` if nothing is wrong. ``carried`` says how many values it has carried
    from the documents on which it was tried, if it was."""

    line: int
    kind: Literal["value", "copy", "each"]
    sources: list[Steps]
    target: Steps | None
    reading: Reading
    sound: bool
    parts: list[PartModel]
    carried: int | None


class StatementModel(Exact):
    """A statement by its line."""

    line: int
    kind: Literal["schema", "namespace", "reference", "key", "join", "box", "entity", "arrow"]
    text: str


class RuleModel(Exact):
    """A rule, and the lines of the arrows whose values it carries."""

    text: str
    arrows: list[int]


class RemarkModel(Exact):
    """What a direction of the rules does to documents, what to write where that is not meant, and the line that it is
    about."""

    direction: Literal["along", "against"]
    text: str
    hint: str | None
    code: str | None
    line: int | None


class ValueModel(Exact):
    """A text or the value of an attribute, and the lines of the arrows that carry it."""

    name: str
    value: str
    arrows: list[int]


class ElementModel(Exact):
    """An element; ``arrows`` carry its tag, or all of it. Texts in its content have no name."""

    tag: str
    arrows: list[int]
    attributes: list[ValueModel]
    content: list[ValueModel | ElementModel]


class ExampleModel(Exact):
    """A document as text and tree, and what exchange makes of it; ``faults`` say what is wrong with the document. It is
    a part of one of the documents that are ``held``, if there are, of which so many were ``tried``."""

    text: str
    tried: int
    held: int
    source: ElementModel | None
    target: ElementModel | None
    faults: tuple[Fault, ...]


class MappingModel(Exact):
    """What the text of a mapping says. ``rules``, those ``against`` the arrows, and ``example`` are of what is sound in
    it; there are ``remarks`` when all is."""

    source: SideModel | None
    target: SideModel | None
    statements: list[StatementModel]
    arrows: list[ArrowModel]
    faults: tuple[Fault, ...]
    rules: list[RuleModel]
    against: list[RuleModel]
    remarks: list[RemarkModel]
    example: ExampleModel | None


class ValuesRequest(Exact):
    """Which leaf's values are wanted: its ``path`` as the lines of the text write it."""

    text: Text
    files: dict[str, Text]
    side: Side
    path: Annotated[str, Field(max_length=10_000)]


class FunctionModel(Exact):
    """A function that can be applied to a value: what is written before and behind that, and what it gives."""

    name: str
    before: str
    after: str
    meaning: str


class CountModel(Exact):
    """A value, and how often it stands there."""

    value: str
    count: int


class ValuesModel(Exact):
    """The most frequent values of a leaf, of so many ``different`` ones, in so many of the ``documents`` that are
    ``held``."""

    values: list[CountModel]
    different: int
    documents: int
    held: int


class SuggestionRequest(Exact):
    """The text of an ``.arrows`` file, the schema files that it names, and documents of either side, if there are."""

    text: Text
    files: dict[str, Text]
    source_samples: Annotated[tuple[Text, ...], Field(max_length=MOST_SAMPLES)] = ()
    target_samples: Annotated[tuple[Text, ...], Field(max_length=MOST_SAMPLES)] = ()


class ReasonModel(Exact):
    """Why an arrow is suggested, in a sentence."""

    kind: str
    text: str


class SuggestionModel(Exact):
    """An arrow as it would be written, where it would begin and end, and how sure it is, from 0 to 1."""

    arrow: str
    source: Steps
    target: Steps
    copies: bool
    confidence: float
    reasons: list[ReasonModel]


class SuggestionsModel(Exact):
    """What could be drawn, the surest first."""

    suggestions: list[SuggestionModel]
