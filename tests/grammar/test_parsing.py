"""The frame of the grammars: positions, excerpts and expectations."""

from __future__ import annotations

import pytest

from heptox.errors import Fault, GrammarError, Position
from heptox.grammar.parsing import DEEPEST, excerpt_at, load_grammar, offset_position, parse_text


def fault_of(text: str, **where: int) -> Fault:
    with pytest.raises(GrammarError) as raised:
        parse_text("query.lark", text, "q.xq", **where)  # type: ignore[arg-type]
    (fault,) = raised.value.faults
    assert fault.code == "HX3001"
    return fault


def test_a_grammar_is_loaded_once() -> None:
    assert load_grammar("query.lark") is load_grammar("query.lark")


@pytest.mark.parametrize(
    ("text", "position", "message", "hint"),
    [
        ("for $a in //a\n  return", Position(2, 9, "q.xq"), "the text ends too early", None),
        ("for $a in //a\nretrun $a", Position(2, 1, "q.xq"), "unexpected 'retrun'", "did you mean 'return'?"),
        ("for $a //a", Position(1, 8, "q.xq"), "unexpected '/'", "expected 'in'"),
        ("//a[b = 'x]", Position(1, 9, "q.xq"), "a string is not closed", None),
        ("//a = (: x", Position(1, 8, "q.xq"), "a comment is not closed", None),
        ("//a " + "b" * 99, Position(1, 5, "q.xq"), f"unexpected '{'b' * 40}...'", None),
    ],
)
def test_a_fault_says_where_what_and_what_would_have_worked(
    text: str, position: Position, message: str, hint: str | None
) -> None:
    fault = fault_of(text)
    assert (fault.position, fault.message) == (position, message)
    assert hint in (None, fault.hint)


def test_no_expectation_names_a_terminal() -> None:
    for text in ("", "//a b", "<a ", "<a b='", "for $a in //a order by $a/b", "//a["):
        hint = fault_of(text).hint
        assert hint is not None
        assert not any(word.isupper() for word in hint.replace("_", " ").split() if len(word) > 1), hint


def test_lines_count_from_where_the_text_stands() -> None:
    fault = fault_of("\n//a b", first_line=10)
    assert fault.position == Position(11, 5, "q.xq")
    assert fault.excerpt == "//a b\n    ^"


def test_an_excerpt_keeps_tabs_and_crops_long_lines() -> None:
    assert excerpt_at("\ta b", Position(1, 4)) == "\ta b\n\t  ^"
    line, caret = excerpt_at("x" * 500 + "!" + "x" * 500, Position(1, 501)).split("\n")
    assert len(line) == 100
    assert line[caret.index("^")] == "!"
    assert excerpt_at("", Position(1, 1)) == "\n^"


def test_offsets_become_positions() -> None:
    assert offset_position("ab\ncd", 4) == Position(2, 2)
    assert offset_position("ab\ncd", 0, "f", 3) == Position(3, 1, "f")


def test_the_limit_of_nesting_is_told() -> None:
    with pytest.raises(GrammarError, match=rf"HX3003 nested too deeply \(at most {DEEPEST} levels of syntax\)"):
        parse_text("query.lark", "(" * 500 + "//a" + ")" * 500)
