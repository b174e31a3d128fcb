"""What the console gets of a mapping in work."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool

from heptox.errors import Fault
from heptox.peer.models.control import Exact

MOST_TEXT: Final = 4 * 1024 * 1024
"""Characters of a mapping, or of a schema, at most."""
MOST_SAMPLES: Final = 8
"""Documents of one side that are compared at most."""

Text = Annotated[str, Field(max_length=MOST_TEXT)]
Steps = list[str]


class MappingRequest(Exact):
    """The text of an ``.arrows`` file, and the schema files that it names; ``sample`` is a document of the source
    schema, without which one is made: the same one for the same ``seed``. ``remarks`` on a large schema take long."""

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


class SideModel(Exact):
    """One side of a mapping: its schema, the boxes drawn on it, the keys that are declared, and references. Steps of
    paths are written with the prefixes of the schema as it is drawn, ``prefixes`` are those of the mapping's text."""

    file: str | None
    root: str
    prefixes: dict[str, str]
    boxes: list[BoxModel]
    keys: list[Steps]
    references: list[ReferenceModel]


class ArrowModel(Exact):
    """An arrow by its line: where it begins and ends, ``null`` where that is nowhere; ``sound`` if nothing is wrong."""

    line: int
    source: Steps | None
    target: Steps | None
    copies: bool
    sound: bool


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
    """A document as text and tree, and what exchange makes of it; ``faults`` say what is wrong with the document."""

    text: str
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
