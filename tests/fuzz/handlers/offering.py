"""Offers at random: mappings and schemas of the examples that are changed, declarations that are made up, names that
lead elsewhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from heptox.codec import pack
from heptox.peer.wire.mapping_files import MOST_DECLARATIONS, MappingFiles
from heptox.peer.wire.offers import Offer, encode_call
from tests.fuzz.handlers.mutation import mutated_message
from tests.hostile.test_control_bytes import mutated

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
NAMES: Final = (
    "../schema.dtd", "../../../../etc/passwd", "/dev/zero", "/proc/self/environ", "s\0.dtd", "", ".", "..", "-", "CON",
    "a/b.dtd", "a\\b.dtd", "\u202es.dtd", "é.dtd", "x" * 65, "x" * 300, "s.dtd ", " s.dtd", "s.dtd\n", "%2e%2e%2fs",
    "~/s.dtd", "http://127.0.0.1:1/s.dtd", "file:///etc/passwd", "\N{FULLWIDTH FULL STOP}./s.dtd",
)  # fmt: skip
_CONTENTS: Final = ("EMPTY", "ANY", "(#PCDATA)", "(#PCDATA|{0})*", "({0}?)", "({0}*,{1}+)", "({0}|{1})", "({0},{0})")
_ATTRIBUTES: Final = ("CDATA #IMPLIED", "ID #REQUIRED", "IDREFS #IMPLIED", '(a|b) "a"', 'CDATA #FIXED "x"', "NOTATION")


def random_offer(offer: Offer, random: Random) -> bytes:
    """The bytes of an offer that is like another one, but for its files."""
    files, mapping = _random_files(random)
    if random.random() < 0.3:
        files, mapping = _renamed(files, mapping, random)
    try:
        return encode_call(Offer(offer.name, offer.addresses, MappingFiles(files, mapping), offer.side, offer.schema))
    except Exception:  # names that no file may have are said all the same
        fields: dict[str, Any] = {"name": offer.name, "addresses": list(offer.addresses), "files": files}
        said = {**fields, "mapping": mapping, "side": offer.side.value, "schema": offer.schema, "number": 0}
        return pack("offer", {**said, "agreed": False})


def _random_files(random: Random) -> tuple[dict[str, bytes], str]:
    if random.random() < 0.5:
        files, mapping = _example(random)
        for name in random.sample(sorted(files), k=random.randrange(len(files) + 1)):
            files[name] = mutated(files[name], random)
        return files, mapping
    schema = random_schema(random)
    elements = [f"e{number}" for number in range(12)]
    arrows = "".join(
        f"{random.choice(elements)}/{random.choice(elements)} -> {random.choice(elements)}\n"
        for _ in range(random.choice((0, 1, 5, 300)))
    )
    head = f'source "{_named(random)}" root e0\ntarget "s.dtd" root e1\n'
    return {"m.arrows": (head + arrows).encode(errors="replace"), "s.dtd": schema}, "m.arrows"


def _named(random: Random) -> str:
    return random.choice(NAMES) if random.random() < 0.3 else "s.dtd"


def _renamed(files: dict[str, bytes], mapping: str, random: Random) -> tuple[dict[str, bytes], str]:
    """The files, one called otherwise, or with more of them than may be."""
    changed = {**files, **{f"more{number}.dtd": b"" for number in range(random.choice((0, 0, 6, 7, 20)))}}
    changed[random.choice(NAMES)] = changed.pop(random.choice(sorted(changed)))
    return changed, random.choice((mapping, random.choice(NAMES)))


@cache
def _mappings() -> tuple[Path, ...]:
    """The examples whose schemas are part of the project: the same trials everywhere."""
    files = sorted(EXAMPLES.rglob("*.arrows"))
    return tuple(file for file in files if "../shared/" not in file.read_text(encoding="utf-8"))


def _example(random: Random) -> tuple[dict[str, bytes], str]:
    packed = MappingFiles.pack(random.choice(_mappings()))
    return dict(packed.files), packed.mapping


def random_schema(random: Random) -> bytes:
    """Declarations at random, as many as may be now and then."""
    number = random.choice((1, 5, 12, 40, 1000, MOST_DECLARATIONS - 1, MOST_DECLARATIONS, MOST_DECLARATIONS + 1))
    names = [f"e{one}" for one in range(number)]
    lines = []
    for name in names:
        content = random.choice(_CONTENTS).format(random.choice(names), random.choice(names))
        lines.append(f"<!ELEMENT {name} {content}>")
        if number < 100 and random.random() < 0.5:
            lines.append(f"<!ATTLIST {name} a{random.randrange(3)} {random.choice(_ATTRIBUTES)}>")
    if number < 100 and random.random() < 0.5:
        lines.append(random.choice(ODD))
    text = "\n".join(lines).encode()
    return mutated(text, random) if random.random() < 0.3 else text


ODD: Final = (
    "<!ELEMENT wide (" + "|".join(f"w{number}" for number in range(2000)) + ")*>",
    "<!ELEMENT deep " + "(" * 500 + "a" + ")" * 500 + ">",
    "<!ELEMENT ambiguous (" + "a?," * 400 + "a)>",
    "<!ATTLIST e0 " + " ".join(f"x{number} CDATA #IMPLIED" for number in range(2000)) + ">",
    '<!ENTITY % a "<!ELEMENT z (#PCDATA)>"> %a; %a;',
    '<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">',
    '<!ENTITY % out SYSTEM "file:///etc/passwd"> %out;',
    '<!ENTITY % out SYSTEM "http://127.0.0.1:1/"> %out;',
    "<![INCLUDE[" * 200 + "]]>" * 200,
    "<!-- " + "-" * 5000,
)


def mutated_offer(offer: Offer, random: Random) -> bytes:
    """An offer with other files, changed in its fields too now and then."""
    data = random_offer(offer, random)
    return mutated_message(data, random) if random.random() < 0.3 else data
