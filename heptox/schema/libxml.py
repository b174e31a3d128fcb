"""XSDs as libxml2 knows them: it is fast, and knows XSD 1.0 only."""

from __future__ import annotations

from lxml import etree

from heptox.schema.xsd_files import SchemaFiles
from heptox.xml import PARSING


class _OnlyTheFiles(etree.Resolver):
    """Answers every request of libxml2 from memory: with a file of the schema, or with nothing."""

    def __init__(self, files: SchemaFiles) -> None:
        super().__init__()
        self.files = files.files

    def resolve(self, system_url: str, public_id: object, context: object) -> object:  # type: ignore[override]  # noqa: ARG002
        file = self.files.get(system_url)
        text = b"" if file is None else file.text
        return self.resolve_string(text, context, base_url=system_url)


def compiled(files: SchemaFiles) -> etree.XMLSchema | None:
    """The schema as libxml2 knows it, which is XSD 1.0; ``None`` where it does not take it, or would read another one:
    of several files of one namespace it reads the first that is imported, and all parts, whatever version they are for.
    """
    if files.is_newer or files.has_versions or not files.has_one_file_for_each_import:
        return None
    parser = etree.XMLParser(no_network=True, resolve_entities=False)
    parser.resolvers.add(_OnlyTheFiles(files))
    with PARSING:
        document = etree.fromstring(files.main.text, parser, base_url=files.main.location)
        try:
            return etree.XMLSchema(document)
        except etree.XMLSchemaParseError:
            return None
