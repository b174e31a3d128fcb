"""Keys and references as identity constraints of an XSD: in the element types of documents' roots, for the scope of
both
is one document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heptox.schema.inference.inferring import leaf_type
from heptox.schema.inference.model import InferredSchema, Leaf, Reference
from heptox.schema.model import Particle
from heptox.xml import Prefixes, expanded_name, split_name


@dataclass(frozen=True, slots=True)
class Constraint:
    """An ``xs:key``, ``xs:unique`` or, with the name of what it ``refers`` to, ``xs:keyref``, below ``root``."""

    name: str
    root: str
    leaf: Leaf
    refers: str = ""
    kind: str = "xs:key"

    def lines(self, prefixes: Prefixes) -> Iterator[str]:
        """The constraint as it stands in the declaration of the root."""
        own = prefixes.written(expanded_name(split_name(self.root)[0], self.refers)) if self.refers else ""
        kind, refers = ("xs:keyref", f' refer="{own}"') if self.refers else (self.kind, "")
        paths, field = self._selected(prefixes)
        selector = "|".join(paths)
        yield f'<{kind} name="{self.name}"{refers}>'
        yield f'  <xs:selector xpath="{selector}"/>'
        yield f'  <xs:field xpath="{field}"/>'
        yield f"</{kind}>"

    def _selected(self, prefixes: Prefixes) -> tuple[list[str], str]:
        """The paths from the root to the elements, and from these to the values. A key stands once in its element; an
        element may have several leaves that refer."""
        step = _step(self.leaf.step, prefixes)
        below = [f".//{_step(self.leaf.element, prefixes)}"]
        elements = [".", *below] if self.leaf.element == self.root else below
        if not self.refers or self.leaf.is_attribute:
            return elements, step
        return [step if path == "." else f"{path}/{step}" for path in elements], "."


def _step(step: str, prefixes: Prefixes) -> str:
    """A step as XPath 1.0 has it, in which a name without a prefix is in no namespace."""
    at, name = ("@", step[1:]) if step.startswith("@") else ("", step)
    namespace, local = split_name(name)
    prefix = prefixes.prefix_of(namespace, attribute=True) if namespace else ""
    return f"{at}{prefix}:{local}" if prefix else f"{at}{local}"


def constraints_of(schema: InferredSchema) -> dict[str, tuple[Constraint, ...]]:
    """The constraints of each root. None are given to a root that stands below other elements too, for a reference may
    leave the subtree there; none to references whose values are of another type than those of the key."""
    nested = {name for element in schema.all_elements() if element.content for name in _names(element.content)}
    found: dict[str, tuple[Constraint, ...]] = {}
    number = 0
    for root in schema.roots:
        if root in nested or schema.elements[root].named:
            continue
        keys = {key.leaf: f"key-{number + place}" for place, key in enumerate(schema.keys, 1)}
        kinds = {key.leaf: "xs:unique" if key.is_optional else "xs:key" for key in schema.keys}
        references = [one for one in schema.references if _is_keyref(one, schema)]
        found[root] = (
            *(Constraint(name, root, leaf, kind=kinds[leaf]) for leaf, name in keys.items()),
            *(
                Constraint(f"reference-{number + place}", root, one.leaf, keys[one.target])
                for place, one in enumerate(references, 1)
                if one.target in keys
            ),
        )
        number += len(keys)
    return found


def _is_keyref(reference: Reference, schema: InferredSchema) -> bool:
    if reference.target is None or reference.several:
        return False
    own = leaf_type(reference.leaf, schema.elements, schema.local)
    return own is not None and own == leaf_type(reference.target, schema.elements, schema.local)


def _names(model: Particle) -> Iterator[str]:
    if model.kind == "name":
        yield model.name
    for member in model.members:
        yield from _names(member)
