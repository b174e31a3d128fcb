"""Errors: what is wrong, where, and what would have worked.

Every error that heptox raises is a :class:`HeptoxError` holding one or more :class:`Fault` values, each with a
stable code from :data:`CODES`. Stages raise their own subclass, so a caller can catch the stage it understands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nsmallest
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text. ``line`` and ``column`` count from 1; ``file`` is ``None`` for text given directly."""

    line: int
    column: int
    file: str | None = None

    def __str__(self) -> str:
        return f"{self.file or '<text>'}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: a code of :data:`CODES`, what, where, the text there, and what would have worked.

    >>> str(Fault("HX3001", "unexpected ')'", Position(1, 7, "q.xq"), hint="expected a step"))
    "q.xq:1:7: HX3001 unexpected ')' (expected a step)"
    """

    code: str
    message: str
    position: Position | None = None
    excerpt: str | None = None
    hint: str | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown error code {self.code}")
        if len(self.message) > LONGEST_MESSAGE:
            object.__setattr__(self, "message", _cut(self.message))
        if self.hint is not None and len(self.hint) > LONGEST_MESSAGE:
            object.__setattr__(self, "hint", _cut(self.hint))

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else f"{self.file}: " if self.file else ""
        return f"{place}{self.code} {self.message}" + (f" ({self.hint})" if self.hint else "")


LONGEST_MESSAGE: Final = 4000
"""Characters of a message, and of a hint, at most: names and values that others have chosen stand in them."""


def _cut(text: str) -> str:
    """A text that is too long, without its middle."""
    half = LONGEST_MESSAGE // 2
    return f"{text[:half]} [...] {text[-half:]}"


MOST_COMPARED: Final = 300
"""How many names are compared with one that is unknown: comparing takes up to a tenth of a millisecond for each."""
LONGEST_COMPARED: Final = 100
"""Characters of a name that is compared at most."""


def near_names(word: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names that were probably meant by ``word``, the nearest first; none that is less near than ``cutoff``.

    Of more than :data:`MOST_COMPARED` those of about its length are compared.

    >>> near_names("titel", ["author", "title", "note"])
    ['title']
    """
    if len(word) > LONGEST_COMPARED:
        return []
    comparable = (name for name in known if len(name) <= LONGEST_COMPARED)
    candidates = nsmallest(MOST_COMPARED, comparable, key=lambda name: abs(len(name) - len(word)))
    return get_close_matches(word, candidates, most, cutoff)


class HeptoxError(Exception):
    """The root of all errors of heptox; ``faults`` holds everything that was found wrong, at least one."""

    def __init__(self, faults: Fault | Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        if not self.faults:
            raise ValueError("an error needs at least one fault")
        super().__init__("\n".join(str(fault) for fault in self.faults))

    @property
    def summary(self) -> str:
        """All faults on one line, each with its place and its code.

        >>> error = SchemaError([Fault("HX2005", "no root", file="a.dtd"), Fault("HX2003", "b is not declared")])
        >>> error.summary, error.reason
        ('a.dtd: HX2005 no root; HX2003 b is not declared', 'no root; b is not declared')
        """
        return "; ".join(map(str, self.faults))

    @property
    def reason(self) -> str:
        """What is wrong, on one line, without places and codes: for those who do not see what the places are in."""
        return "; ".join(fault.message for fault in self.faults)

    def __reduce__(self) -> tuple[type[HeptoxError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.faults,)


class InputError(HeptoxError):
    """A file or a document cannot be read (HX1...)."""


class SchemaError(HeptoxError):
    """A schema cannot be read or does not hold what is asked of it (HX2...)."""


class GrammarError(HeptoxError):
    """A text does not follow its grammar, or leaves the query fragment (HX3...)."""


class MappingError(HeptoxError):
    """Arrows, boxes or rules do not fit their schemas (HX4...)."""


class TranslationError(HeptoxError):
    """A query cannot be translated exactly (HX5...)."""


class StoreError(HeptoxError):
    """A query cannot be evaluated on the documents at hand (HX6...)."""


class PeerError(HeptoxError):
    """A peer cannot do what it was asked (HX7...)."""


class ClusterError(HeptoxError):
    """Work on a cluster cannot be done as it was asked (HX8...)."""


class DisseminationError(HeptoxError):
    """Subscriptions, documents that are published, or their log cannot be what was asked (HX9...)."""


CODES: Final[dict[str, str]] = {
    # 1: files and documents
    "HX1001": "file cannot be read",
    "HX1002": "document is not well-formed",
    "HX1003": "encoding unknown, or not kept",
    "HX1004": "external entity",
    "HX1005": "entity without a declaration that is read",
    "HX1006": "document exceeds a limit",
    "HX1007": "prefix that is not declared",
    # 2: schemas
    "HX2001": "DTD is malformed",
    "HX2002": "DTD refers to an external entity that is not read",
    "HX2003": "element type is not declared",
    "HX2005": "root is not declared, or not the only candidate",
    "HX2006": "namespace of a name in a DTD is not declared",
    "HX2007": "document is not valid for its schema",
    "HX2008": "document does not hold its DTD",
    "HX2009": "content model is not deterministic",
    "HX2010": "recursive element type cannot be unfolded here",
    "HX2011": "no tag is free for a value in a box",
    "HX2012": "schema tree is too large to unfold",
    "HX2013": "document is of another schema",
    "HX2014": "DTD exceeds a limit",
    "HX2015": "catalogue is none",
    "HX2030": "XSD is malformed or inconsistent",
    "HX2031": "file that an XSD names cannot be read, or may not be",
    "HX2032": "declaration stands in two files of an XSD",
    "HX2033": "XSD has too many files, or too large ones",
    "HX2034": "text of a schema graph is malformed",
    "HX2035": "to read an XSD, or to check by one, takes too much",
    "HX2061": "documents that no DTD describes",
    "HX2062": "schema of several namespaces, and no file for it",
    "HX2063": "schema that cannot be extended",
    "HX2064": "document that is valid for no schema",
    # 3: grammars
    "HX3001": "text does not follow the grammar",
    "HX3002": "construct outside the query fragment",
    "HX3003": "text or query is nested too deeply",
    "HX3004": "variable is not bound",
    "HX3005": "character or entity reference is malformed",
    "HX3006": "tags or attributes of a constructor do not fit",
    "HX3007": "static error of XQuery",
    "HX3008": "external variable of a query does not fit",
    "HX3009": "query that a neighbour sends is too large",
    "HX3041": "step that no schema path can stand for",
    "HX3042": "negation outside the query fragment",
    "HX3043": "string compared with a number",
    "HX3044": "inner element used as a value",
    "HX3045": "value in a constructor outside the query fragment",
    "HX3046": "repeating content of a constructor",
    "HX3047": "variable is bound twice",
    "HX3049": "encoded query is malformed",
    "HX3050": "too many alternatives in a query",
    "HX3051": "copied element returned under another name",
    "HX3060": "construct outside the subscription language",
    "HX3061": "too many alternatives in a subscription",
    "HX3062": "variable in a filter",
    "HX3063": "construct of XPath 3.1 that a filter cannot have",
    "HX3066": "prefix that is not bound",
    "HX3067": "step into open content",
    "HX3068": "computed value that no query says",
    "HX3070": "what no peer can be asked, in a query that is split",
    "HX3071": "too many cores of a query",
    # 4: mappings
    "HX4001": "path unknown in its schema",
    "HX4002": "schema of a mapping is missing or cannot be used",
    "HX4003": "declared twice",
    "HX4004": "arrow or rule stands twice",
    "HX4005": "box unknown",
    "HX4006": "members of a box differ in structure",
    "HX4007": "box cannot be drawn there",
    "HX4008": "box without an arrow between its tags and values",
    "HX4009": "inner node where a leaf is needed, or a leaf where an inner node is",
    "HX4010": "path enters a recursive element type again",
    "HX4011": "text that repeats",
    "HX4012": "subtree cannot be copied",
    "HX4013": "leaf that stands once takes a leaf that repeats",
    "HX4014": "key or reference cannot be",
    "HX4015": "ambiguous reference",
    "HX4016": "groups are not connected by references",
    "HX4017": "groups are connected in several ways",
    "HX4018": "single member of a box where it cannot be meant",
    "HX4019": "several values for a leaf that stands once",
    "HX4020": "box node without its tag",
    "HX4021": "too many alternatives",
    "HX4022": "arrow into a subtree that is copied whole",
    "HX4023": "join line in a file of rules",
    "HX4024": "mapping that serves one direction only",
    "HX4025": "entity line that relates no repeating nodes",
    "HX4026": "arrow that is not mirrored",
    "HX4027": "reference taken from arrows",
    "HX4030": "variable of a rule is not bound",
    "HX4031": "variable or leaf of a rule stands twice",
    "HX4032": "head of a rule is no chain",
    "HX4033": "identity of a head node is not the one that its leaves give",
    "HX4034": "parts of a rule's body are not connected",
    "HX4035": "optional part of a rule's body that cannot be",
    "HX4036": "schema that a mapping names is not among its files",
    "HX4037": "value of an element that may be nil where no rule can say that it is not",
    "HX4038": "selection that no node can be chosen by",
    "HX4039": "function in a mapping that cannot be",
    "HX4040": "document does not belong to the source schema of the mapping",
    "HX4041": "inverse in a mapping that is none",
    "HX4042": "table of codes that cannot be used",
    "HX4071": "function that values cannot be computed by",
    "HX4072": "function with another number of arguments",
    "HX4073": "argument or constant of a function of another type",
    "HX4074": "regular expression or picture that engines read differently",
    # 5: translation
    "HX5001": "subtree that is copied, and has an arrow of its own inside",
    "HX5002": "leaf of the root that depends on more than the root",
    "HX5005": "too large a union",
    "HX5006": "query too large to compare",
    "HX5007": "copies under different names compared",
    "HX5008": "absence, or a leaf, that rules do not decide node by node",
    "HX5009": "translation takes longer than it may",
    "HX5010": "adjacent schemas of a path of mappings do not fit",
    "HX5011": "document breaks a key that the mapping declares",
    "HX5012": "document breaks a reference that the mapping declares",
    "HX5015": "subtrees compared that rules put together",
    "HX5016": "more asked of an invented identifier than whether it is the same",
    "HX5013": "no random document of a schema can be made",
    "HX5014": "document brings several values for a leaf that is there once",
    "HX5017": "computed value that is not translated",
    "HX5018": "selection by one of several values where a part need not be there",
    "HX5019": "declared inverse that does not give the leaf back",
    "HX5020": "nested part that joins nodes of the match around it",
    "HX5021": "nodes in copies of what values tell apart are counted",
    # 6: store
    "HX6003": "values of a comparison or an order have no common type",
    "HX6004": "several values where one is needed",
    "HX6005": "constructor makes no element",
    "HX6006": "too many tuples to put in order, or nodes that paths keep",
    "HX6007": "too long an item",
    "HX6008": "document is too large to be read into memory",
    "HX6009": "statement cannot be carried out",
    "HX6011": "another document of that name is held",
    "HX6012": "store keeps documents of another schema",
    "HX6013": "store is in use by another process",
    "HX6014": "file is no store, or none that this version reads",
    "HX6015": "no document of that name is held",
    "HX6016": "store cannot be written",
    "HX6017": "dynamic error of XQuery",
    "HX6018": "evaluation takes too long",
    "HX6019": "evaluation takes too much memory",
    "HX6020": "document does not fit the relations of its schema",
    # 7: peers
    "HX7002": "message between peers is malformed",
    "HX7003": "message version or kind unknown",
    "HX7004": "message or frame too long",
    "HX7010": "neighbour cannot be reached",
    "HX7011": "stream to a neighbour lost",
    "HX7012": "peer cannot dial itself",
    "HX7020": "query id in use",
    "HX7021": "limits of a query out of range",
    "HX7050": "folder is no peer's folder, or cannot become one",
    "HX7051": "peer's folder is in use by another process",
    "HX7052": "setting of a peer cannot be",
    "HX7053": "key of a peer cannot be used",
    "HX7054": "multiaddress cannot be used",
    "HX7055": "one's own peer cannot be reached",
    "HX7058": "mapping does not start or end at the peer's schema",
    "HX7059": "both sides of a mapping have the peer's schema",
    "HX7060": "request to the control address is refused",
    "HX7061": "acquaintance cannot be made",
    "HX7062": "address to listen at cannot be had",
    "HX7063": "query was stopped before it was evaluated to its end",
    "HX7064": "several peers, or none, where one is meant",
    "HX7065": "process of a peer did not start or ended by itself",
    "HX7066": "work on a query met a defect of heptox",
    "HX7067": "nobody, or more than one, is meant by a name",
    "HX7069": "no such query is in flight",
    "HX7080": "export policy cannot be carried out",
    "HX7081": "store of what a neighbour may see is behind the documents",
    "HX7082": "audit log cannot be written",
    "HX7083": "peer takes no part in feeds",
    "HX7084": "no publisher of that name is reached",
    "HX7085": "mapping on the way to a publisher is not to be had, or does not fit",
    "HX7090": "request to the control API made by a page of another site",
    "HX7091": "ticket of the console is none, or was used, or is too old",
    "HX7092": "browser cannot reach the console",
    "HX7093": "drawing cannot have that name, those files or that size",
    "HX7094": "no drawing of that name is kept",
    "HX7095": "drawing cannot be read or written",
    "HX7096": "another drawing would be lost",
    "HX7097": "request to the control API is larger than it may be",
    "HX7098": "request to the control API does not come to its end",
    "HX7099": "control API has as many connections as it takes",
    "HX7100": "work takes more of the processor or of memory than it may",
    "HX7101": "offer is another one than was looked at",
    "HX7102": "strangers offer too much",
    "HX7103": "offer is larger than it may be",
    "HX7104": "offered mapping has faults",
    "HX7105": "acquaintance changes too often",
    "HX7106": "queries of a neighbour take more of the processor than they may",
    "HX7107": "peer hides parts of what nested answers gather",
    "HX7108": "query of what is for counts only asks for more",
    "HX7109": "neighbour asks too much of what is for counts only",
    "HX7110": "task of the daemon fails again and again",
    "HX7111": "peer takes no document that is not valid for its schema",
    # 8: clusters
    "HX8001": "no Java to run Spark with",
    "HX8002": "what works on a cluster is not installed",
    "HX8003": "master of the cluster cannot be reached",
    "HX8004": "address of a master is not one",
    "HX8005": "Spark has failed",
    "HX8006": "cluster gives no executor",
    "HX8007": "Spark is in use in this process already",
    "HX8020": "some of the documents cannot be read",
    "HX8021": "no documents are in a folder",
    "HX8022": "executors do not see a folder",
    "HX8023": "folder for what is exchanged cannot be used",
    "HX8024": "documents asked together on Spark",
    "HX8040": "plan of an emulation cannot be read",
    "HX8041": "emulation is asked for what there is not",
    "HX8042": "network cannot be made",
    "HX8050": "report cannot be written",
    # 9: dissemination
    "HX9020": "file of a matcher is none, or none that this version reads",
    "HX9021": "file of a matcher cannot be used",
    "HX9022": "matching takes longer than it may",
    "HX9023": "no plan of that name",
    "HX9024": "another subscription has that number",
    "HX9030": "no document can be advertised",
    "HX9031": "advertisement is none, or none that this version reads",
    "HX9032": "advertisement is too large",
    "HX9050": "subscription log or feed log is damaged, or is none",
    "HX9051": "subscription log or feed log was written by a newer version",
    "HX9052": "subscription log or feed log is in use by another process",
    "HX9053": "subscription log or feed log cannot be written",
    "HX9060": "another subscription of that name is held",
    "HX9061": "no subscription of that name is held",
    "HX9062": "no notification of that number",
    "HX9063": "notification or document is not kept any more",
    "HX9064": "backlog of a subscription is full",
    "HX9065": "another document was published under that id",
    "HX9066": "document is too large to be published",
    "HX9067": "name, option or text of a subscription cannot be",
    "HX9068": "value of an inner element compared in a subscription that is to be translated",
    "HX9070": "subscription in own words asks for what the peer's schema does not have",
    "HX9071": "query cannot be followed",
    "HX9101": "mapping cannot be expressed by operators",
    "HX9102": "operator cannot be applied",
    "HX9103": "document does not fit the schema that it is rewritten from",
    "HX9104": "more of a document than may be has to be held to rewrite it",
    "HX9105": "rewriting copies more than it may",
    "HX9201": "more of a document than may be has to be held at once to filter it",
    "HX9202": "line of a file of filters cannot be read",
    "HX9203": "results of filters cannot be written",
    "HX9204": "document has an element where its schema has none",
    "HX9205": "filter cannot be evaluated on a document",
    "HX9206": "process that evaluates filters has ended",
}
"""Every error code with its meaning. A code never changes its meaning."""

RETIRED: Final[dict[str, str | None]] = {
    "HX2004": None,
    "HX3040": "HX3004",
    "HX5003": None,
    "HX5004": None,
    "HX6010": None,
    "HX7056": "HX6011",
    "HX7070": "HX6015",
    "HX7086": "HX5009",
}
"""Codes of earlier versions, each with the code that has its meaning now, if any. Their numbers are not used again."""
