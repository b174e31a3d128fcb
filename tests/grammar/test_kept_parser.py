"""Tables of parsers are kept for a user, and are never needed."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

from heptox.grammar.kept_parser import kept_parser
from heptox.grammar.parsing import load_grammar
from tests.support.fixtures import cases

GRAMMAR = 'start: "a" B*\nB: "b"'


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "heptox"


def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The grammars whose tables are computed from now on."""
    found: list[str] = []
    made = Lark.__init__

    def init(self: Lark, grammar: str, **options: object) -> None:
        found.append(grammar)
        made(self, grammar, **options)

    monkeypatch.setattr(Lark, "__init__", init)
    return found


def test_tables_are_computed_once_for_a_user(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = built(monkeypatch)
    trees = [kept_parser(GRAMMAR, "start").parse("abb") for _ in range(3)]
    assert trees[0] == trees[1] == trees[2]
    assert found == [GRAMMAR]
    (file,) = kept.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", [b"", b"x" * 100, b"cos\nsystem\n"])
def test_a_damaged_file_is_made_anew(kept: Path, damage: bytes) -> None:
    kept_parser(GRAMMAR, "start")
    (file,) = kept.iterdir()
    file.write_bytes(damage)
    assert kept_parser(GRAMMAR, "start").parse("ab").children == ["b"]
    assert Lark.load(BytesIO(file.read_bytes())).parse("ab").children == ["b"]


def test_without_a_folder_tables_are_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept_parser(GRAMMAR, "start").parse("a").children == []


def read(text: str, *, plain: bool) -> object:
    """The tree of a text, or what keeps it from being read."""
    try:
        return load_grammar("query.lark", plain=plain).parse(text)
    except UnexpectedInput as error:
        return type(error), error.line, error.column, sorted(str(error).splitlines())


@pytest.mark.parametrize("file", ["montreal", "outside", "malformed"])
def test_grammars_for_texts_in_ascii_read_them_as_the_whole_ones(file: str) -> None:
    texts = [query for query, _ in cases(f"queries/{file}.xq") if query.isascii()]
    assert len(texts) > 3
    for text in texts:
        assert read(text, plain=True) == read(text, plain=False), text
