"""Random small XSDs, and random documents that are valid for them: both from one model, which knows nothing of graphs.

Names are drawn so that every content model is deterministic: within a type, each name stands in one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

from heptox.xml import escaped_value

NAMESPACE: Final = "urn:test"
_VALUES: Final = {"string": ("x", "y z", ""), "int": ("1", "-7"), "date": ("2003-12-25",), "boolean": ("true", "0")}
_MOST_DEPTH: Final = 6


@dataclass(slots=True)
class Declared:
    """An element declaration: of a built-in type, a named type by its number, or a type of its own."""

    name: str
    builtin: str = ""
    named: int = -1
    own: ComplexType | None = None
    nillable: bool = False
    qualified: bool = True


@dataclass(slots=True)
class Part:
    """A part of a content model: an element, a reference to a global one, a wildcard, or a group."""

    kind: str
    least: int = 1
    most: int | None = 1
    element: Declared | None = None
    head: int = -1
    members: list[Part] = field(default_factory=list)


@dataclass(slots=True)
class ComplexType:
    """A type: its content, attributes (name, type, required, default), and the type that it extends, if any."""

    content: Part | None
    attributes: list[tuple[str, str, bool, str]]
    base: int = -1
    abstract: bool = False
    mixed: bool = False
    simple: str = ""
    any_attribute: bool = False


@dataclass(slots=True)
class Head:
    """A global element, with the members of its substitution group; all have one type."""

    name: str
    builtin: str
    abstract: bool
    members: list[str]


class RandomSchema:
    """A random XSD; ``plain`` ones have nothing that a schema graph weakens."""

    def __init__(self, random: Random, *, plain: bool = False) -> None:
        self.random = random
        self.plain = plain
        self.qualified = random.random() < 0.7
        self.heads = [
            Head(
                f"h{number}",
                random.choice(["string", "int"]),
                random.random() < 0.3,
                [f"m{number}a", f"m{number}b"][: random.randint(1, 2)],
            )
            for number in range(random.randint(0, 2))
        ]
        self.types: list[ComplexType] = []
        for number in range(random.randint(1, 4)):
            self.types.append(self._type(number))
        self.root = ComplexType(self._group("abc", len(self.types), 0), self._attributes("r"))

    # -- the model ---------------------------------------------------------------------------------------------------

    def _type(self, number: int) -> ComplexType:
        random = self.random
        if random.random() < 0.2:
            return ComplexType(None, self._attributes(f"t{number}"), simple=random.choice(["string", "int"]))
        extensible = [one for one in range(number) if not self.types[one].simple and not self._is_all(one)]
        if extensible and not self.plain and random.random() < 0.5:
            base = random.choice(extensible)
            names = "".join(chr(ord("a") + 5 * (self._level(base) + 1) + offset) for offset in range(3))
            content = self._group(names, number, 1, no_all=True)
            return ComplexType(content, self._attributes(f"t{number}"), base, mixed=self.types[base].mixed)
        content = self._group("abc", number, 1)
        abstract = not self.plain and random.random() < 0.15
        return ComplexType(
            content, self._attributes(f"t{number}"), abstract=abstract, mixed=random.random() < 0.2,
            any_attribute=not self.plain and random.random() < 0.2,
        )  # fmt: skip

    def _is_all(self, number: int) -> bool:
        content = self.types[number].content
        return content is not None and content.kind == "all"

    def _level(self, number: int) -> int:
        base = self.types[number].base
        return 0 if base < 0 else 1 + self._level(base)

    def _attributes(self, prefix: str) -> list[tuple[str, str, bool, str]]:
        random = self.random
        found = []
        for number in range(random.randint(0, 2)):
            kind = random.choice(["string", "int", "boolean"])
            default = random.choice(_VALUES[kind]) if random.random() < 0.2 else ""
            found.append((f"{prefix}k{number}", kind, not default and random.random() < 0.4, default))
        return found

    def _group(self, names: str, number: int, depth: int, *, no_all: bool = False) -> Part:
        random = self.random
        pool = list(names)
        random.shuffle(pool)
        if not no_all and random.random() < 0.2:
            members = [self._element(name, number, depth, random.randint(0, 1), 1) for name in pool]
            return Part("all", members=members)
        heads = list(range(len(self.heads))) if not no_all else []
        return self._compositor(pool, heads, number, depth)

    def _compositor(self, pool: list[str], heads: list[int], number: int, depth: int) -> Part:
        random = self.random
        members: list[Part] = []
        while pool and len(members) < 3:
            drawn = random.random()
            if drawn < 0.2 and len(pool) > 1:
                inner = [pool.pop() for _ in range(2)]
                members.append(self._compositor(inner, [], number, depth))
            elif drawn < 0.4 and heads:
                least, most = self._occurs()
                members.append(Part("ref", least, most, head=heads.pop()))
            else:
                members.append(self._element(pool.pop(), number, depth, *self._occurs()))
        kind = random.choice(["sequence", "sequence", "choice"])
        if not self.plain and kind == "sequence" and random.random() < 0.15:
            members.append(Part("any", 0, random.choice([1, None])))
        return Part(kind, members=members) if kind == "choice" else Part(kind, random.randint(0, 1), 1, members=members)

    def _occurs(self) -> tuple[int, int | None]:
        return self.random.choice(
            [(1, 1), (0, 1), (0, None), (1, None), *([] if self.plain else [(2, 3), (0, 2), (0, 0)])]
        )

    def _element(self, name: str, number: int, depth: int, least: int, most: int | None) -> Part:
        random = self.random
        nillable = not self.plain and random.random() < 0.1
        qualified = random.random() < 0.8 if not self.plain else True
        drawn = random.random()
        if drawn < 0.5 or (drawn >= 0.8 and depth > 2):
            element = Declared(name, builtin=random.choice(sorted(_VALUES)), nillable=nillable, qualified=qualified)
        elif drawn < 0.8:
            named = random.randint(0, max(number, 0))
            if named >= number:  # may be recursive: documents have to end
                least = 0
            element = Declared(name, named=named, nillable=nillable, qualified=qualified)
        else:
            own = ComplexType(self._group("abc", number, depth + 1, no_all=False), self._attributes("o"))
            element = Declared(name, own=own, nillable=nillable, qualified=qualified)
        return Part("element", least, most, element)

    def _named(self, declared: Declared) -> ComplexType | None:
        if declared.own is not None:
            return declared.own
        return self.types[min(declared.named, len(self.types) - 1)] if declared.named >= 0 else None

    # -- the schema --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The XSD."""
        form = ' elementFormDefault="qualified"' if self.qualified else ""
        lines = [
            f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="{NAMESPACE}"',
            f'targetNamespace="{NAMESPACE}"{form}>',
            '<xs:element name="root">', *self._type_lines(self.root, ""), "</xs:element>",
        ]  # fmt: skip
        for head in self.heads:
            abstract = ' abstract="true"' if head.abstract else ""
            lines.append(f'<xs:element name="{head.name}" type="xs:{head.builtin}"{abstract}/>')
            lines += [
                f'<xs:element name="{name}" type="xs:{head.builtin}" substitutionGroup="t:{head.name}"/>'
                for name in head.members
            ]
        for number, one in enumerate(self.types):
            lines += self._type_lines(one, f' name="T{number}"')
        return "\n".join([*lines, "</xs:schema>"])

    def _type_lines(self, one: ComplexType, name: str) -> Iterator[str]:
        flags = (' abstract="true"' if one.abstract else "") + (' mixed="true"' if one.mixed else "")
        yield f"<xs:complexType{name}{flags}>"
        if one.simple:
            yield f'<xs:simpleContent><xs:extension base="xs:{one.simple}">'
        elif one.base >= 0:
            yield f'<xs:complexContent><xs:extension base="t:T{one.base}">'
        if one.content is not None:
            yield from self._part_lines(one.content)
        for attribute, kind, required, default in one.attributes:
            use = ' use="required"' if required else f' default="{default}"' if default else ""
            yield f'<xs:attribute name="{attribute}" type="xs:{kind}"{use}/>'
        if one.any_attribute:
            yield '<xs:anyAttribute namespace="##other" processContents="lax"/>'
        if one.simple:
            yield "</xs:extension></xs:simpleContent>"
        elif one.base >= 0:
            yield "</xs:extension></xs:complexContent>"
        yield "</xs:complexType>"

    def _part_lines(self, part: Part) -> Iterator[str]:
        occurs = f' minOccurs="{part.least}" maxOccurs="{"unbounded" if part.most is None else part.most}"'
        if part.kind == "any":
            yield f'<xs:any namespace="##other" processContents="lax"{occurs}/>'
        elif part.kind == "ref":
            yield f'<xs:element ref="t:{self.heads[part.head].name}"{occurs}/>'
        elif part.element is not None:
            element = part.element
            flags = (' nillable="true"' if element.nillable else "") + self._form(element)
            typed = f' type="xs:{element.builtin}"' if element.builtin else ""
            if element.named >= 0:
                typed = f' type="t:T{min(element.named, len(self.types) - 1)}"'
            if element.own is None:
                yield f'<xs:element name="{element.name}"{typed}{occurs}{flags}/>'
            else:
                yield f'<xs:element name="{element.name}"{occurs}{flags}>'
                yield from self._type_lines(element.own, "")
                yield "</xs:element>"
        else:
            yield f"<xs:{part.kind}{occurs if part.kind != 'all' else ''}>"
            for member in part.members:
                yield from self._part_lines(member)
            yield f"</xs:{part.kind}>"

    def _form(self, element: Declared) -> str:
        return (
            ""
            if element.qualified == self.qualified
            else f' form="{"qualified" if element.qualified else "unqualified"}"'
        )

    # -- documents ---------------------------------------------------------------------------------------------------

    def document(self, random: Random) -> str | None:
        """A random valid document; ``None`` where a type that is needed has no element that can be written."""
        try:
            content = self._content(self.root, random, 0)
        except _NoneError:
            return None
        declared = f'xmlns:t="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:o="urn:other"'
        return f"<t:root {declared}{content}</t:root>"

    def _content(self, one: ComplexType, random: Random, depth: int) -> str:
        attributes = []
        chain = [one]
        while chain[0].base >= 0:
            chain.insert(0, self.types[chain[0].base])
        for each in chain:
            for name, kind, required, _ in each.attributes:
                if required or random.random() < 0.5:
                    attributes.append(f' {name}="{escaped_value(random.choice(_VALUES[kind]))}"')
            if each.any_attribute and random.random() < 0.5:
                attributes.append(' o:any="x"')
        if one.simple:
            return f"{''.join(attributes)}>{random.choice(_VALUES[one.simple])}"
        parts = [
            text for each in chain if each.content is not None for text in self._parts(each.content, random, depth)
        ]
        between = "some text" if one.mixed and random.random() < 0.5 else ""
        return f"{''.join(attributes)}>{between}{between.join(parts)}"

    def _parts(self, part: Part, random: Random, depth: int) -> Iterator[str]:
        most = part.least + 2 if part.most is None else part.most
        times = part.least if depth > _MOST_DEPTH else random.randint(part.least, most)
        for _ in range(times):
            if part.kind == "any":
                yield "<o:thing o:k='1'><o:inner/>x</o:thing>"
            elif part.kind == "ref":
                head = self.heads[part.head]
                name = random.choice([*([] if head.abstract else [head.name]), *head.members])
                yield f"<t:{name}>{random.choice(_VALUES[head.builtin])}</t:{name}>"
            elif part.element is not None:
                yield self._written(part.element, random, depth + 1)
            elif part.kind == "choice":
                possible = [member for member in part.members if member.most != 0]
                if possible:
                    yield from self._parts(random.choice(possible), random, depth)
            else:
                members = random.sample(part.members, len(part.members)) if part.kind == "all" else part.members
                for member in members:
                    yield from self._parts(member, random, depth)

    def _written(self, element: Declared, random: Random, depth: int) -> str:
        if depth > 40:
            raise _NoneError
        name = f"t:{element.name}" if element.qualified else element.name
        one = self._named(element)
        if one is None:
            if element.nillable and random.random() < 0.5:
                return f'<{name} xsi:nil="true"/>'
            return f"<{name}>{random.choice(_VALUES[element.builtin])}</{name}>"
        attribute = ""
        if element.named >= 0:
            number = min(element.named, len(self.types) - 1)
            possible = [
                each for each in range(len(self.types)) if self._derives(each, number) and not self.types[each].abstract
            ]
            if not possible:
                raise _NoneError
            chosen = random.choice(possible)
            if chosen != number or (len(possible) > 1 and random.random() < 0.1):
                attribute = f' xsi:type="t:T{chosen}"'
            one = self.types[chosen]
        return f"<{name}{attribute}{self._content(one, random, depth)}</{name}>"

    def _derives(self, one: int, other: int) -> bool:
        return one == other or (self.types[one].base >= 0 and self._derives(self.types[one].base, other))


class _NoneError(Exception):
    """No document can be made here."""
