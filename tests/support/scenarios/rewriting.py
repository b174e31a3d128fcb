"""Transformations that leave rows as they are: only how they are written changes.

Tags and values, inner elements, names, elements and attributes. What goes from the schema stays in the rows, unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.support.scenarios.model import (
    Entity,
    Form,
    Holder,
    Inner,
    Leaf,
    Part,
    entities,
    holders,
    mapped,
    substituted,
)
from tests.support.scenarios.site import FORMS, LEAF_NAMES, Site, Step, plain


def values_to_tags(site: Site) -> Step | None:
    """The values of a leaf become the tags of what holds it."""
    if any(entity.tag for entity in entities(site.root)):
        return None
    found = [
        (entity, leaf) for entity in entities(site.root)[1:] for leaf in entity.parts
        if isinstance(leaf, Leaf) and leaf.origins and (len(entity.parts) > 1 or leaf.form != "text")
    ]  # fmt: skip
    if not found:
        return None
    entity, leaf = site.random.choice(found)
    parts = tuple(part for part in entity.parts if part is not leaf)
    (tag,) = plain((replace(leaf, form="tag"),))
    return Step(substituted(site.root, entity.number, replace(entity, parts=(tag, *parts))))


def tags_to_values(site: Site) -> Step | None:
    """The tags of a box become values of a leaf."""
    boxes = [entity for entity in entities(site.root) if entity.tag]
    if not boxes:
        return None
    (entity,) = boxes
    form = site.random.choice(FORMS)
    parts = tuple(
        replace(part, form=form) if isinstance(part, Leaf) and part.form == "tag" else part for part in entity.parts
    )
    return Step(substituted(site.root, entity.number, replace(entity, name=site.name(), parts=parts)))


def insert_node(site: Site) -> Step | None:
    """An inner element comes between some parts and what holds them, or a leaf that nothing fills is new."""
    holder = site.random.choice(list(holders(site.root)))
    if site.random.random() < 0.15:
        leaf = Leaf(site.random.choice(LEAF_NAMES), site.random.choice(FORMS), None, required=False)
        return Step(_with_parts(site.root, holder, (*holder.parts, leaf)))
    parts = [part for part in holder.parts if not isinstance(part, Leaf) or part.form != "tag"]
    if not parts:
        return None
    chosen = site.random.sample(parts, site.random.randint(1, len(parts)))
    inner = Inner(site.name(), plain(part for part in parts if part in chosen))
    rest = tuple(part for part in holder.parts if part not in chosen)
    return Step(_with_parts(site.root, holder, (*rest, inner)))


def delete_node(site: Site) -> Step | None:
    """An inner element goes, and leaves what it holds, or a leaf or a whole list goes."""
    found = [(holder, part) for holder in holders(site.root) for part in holder.parts]
    inner = [(holder, part) for holder, part in found if isinstance(part, Inner)]
    if not found:
        return None
    holder, part = site.random.choice(inner if inner and site.random.random() < 0.6 else found)
    new: tuple[Part, ...] = ()
    if isinstance(part, Inner):
        new = tuple(
            replace(each, required=each.required and part.required) if isinstance(each, Leaf | Inner)
            else replace(each, some=each.some and part.required)
            for each in part.parts
        )  # fmt: skip
    place = holder.parts.index(part)
    return Step(_with_parts(site.root, holder, (*holder.parts[:place], *new, *holder.parts[place + 1 :])))


def rename(site: Site) -> Step | None:
    """Some elements and attributes are called otherwise."""
    names = site.names()

    def change(part: Part) -> tuple[Part, ...]:
        if site.random.random() < 0.4:
            return (part,)
        if isinstance(part, Leaf):
            return (replace(part, name=site.random.choice(LEAF_NAMES)),)
        return (replace(part, name=names.pop()) if names else part,)

    root = replace(site.root, parts=mapped(site.root, change))
    return Step(root if not names or site.random.random() < 0.5 else replace(root, name=names.pop()))


def element_to_attribute(site: Site) -> Step | None:
    """Elements with a single value, or texts of elements, become attributes."""
    return _recast(site, ("element", "text"), "attribute")


def attribute_to_element(site: Site) -> Step | None:
    """Attributes become elements, or the text of their element where that holds only attributes."""
    return _recast(site, ("attribute",), "text" if site.random.random() < 0.4 else "element")


def _recast(site: Site, old: Sequence[Form], new: Form) -> Step | None:
    leaves = [leaf for holder in holders(site.root) for leaf in holder.parts if isinstance(leaf, Leaf)]
    found = [leaf for leaf in leaves if leaf.form in old]
    if not found:
        return None
    chosen = {id(leaf) for leaf in site.random.sample(found, site.random.randint(1, min(2, len(found))))}

    def change(part: Part) -> tuple[Part, ...]:
        if isinstance(part, Leaf) and id(part) in chosen:
            return plain((replace(part, form=new),))
        return (part,)

    return Step(replace(site.root, parts=mapped(site.root, change)))


def _with_parts(root: Entity, holder: Holder, parts: tuple[Part, ...]) -> Entity:
    def change(here: Holder) -> Holder:
        if here is holder:
            return replace(here, parts=parts)
        return replace(here, parts=tuple(part if isinstance(part, Leaf) else change(part) for part in here.parts))

    changed = change(root)
    assert isinstance(changed, Entity)
    return changed
