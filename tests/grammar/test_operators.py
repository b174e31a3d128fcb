"""The text of programs that rewrite documents."""

from __future__ import annotations

from heptox.grammar import parse_operator_lines, print_operators

ALL = """\
source "publisher.dtd" root bib
rename department to dept
rename source/@to to @of
rename . to to
to element to/@to
to attribute attribute
insert a/b in . for +w/c, in/text, drop
insert a in course/+s for *
upgrade * from from
upgrade for, from from in
downgrade a, b of of into into or drop
downgrade to of of into into
swap or with or/drop or drop
swap or with or/drop
dissolve dissolve
drop x/text()
prune prune
arrange course: course/title-2, course/+w.x
"""


def test_all_operators_are_read_and_printed_and_no_word_is_reserved() -> None:
    assert print_operators(parse_operator_lines(ALL)[0]) == ALL


def test_files_of_older_versions_say_exchange_for_swap() -> None:
    assert parse_operator_lines("exchange a with a/b or drop") == parse_operator_lines("swap a with a/b or drop")
    assert parse_operator_lines("rename exchange to swap")[1] == ()


def test_space_and_comments_say_nothing() -> None:
    text = "# a program\n\n  rename a/b to  c # as there\ninsert w in a for a/b,a/c\nswap a\twith a/b or drop\n"
    printed = "rename a/b to c\ninsert w in a for a/b, a/c\nswap a with a/b or drop\n"
    assert print_operators(parse_operator_lines(text)[0]) == printed


def test_each_wrong_line_is_told_with_its_place() -> None:
    lines = {
        "renme x to y": "1:1: HX3001 unexpected 'renme' (did you mean 'rename'?)",
        "rename a/@b/c to d": "2:10: HX3001 nothing stands below @b (an attribute and text() end a path)",
        "insert x in y": "3:14: HX3001 the text ends too early (expected 'for')",
        "swap a wth b": "4:8: HX3001 unexpected 'wth' (did you mean 'with'?)",
        "rename a to +b": "5:13: HX3001 unexpected '+'",
        "drop .. ": "6:7: HX3001 unexpected '.'",
        "dissolve n:x": "7:11: HX3001 unexpected ':'",
        'target "x.dtd"': "8:1: HX3001 unexpected 'target'",
    }
    faults = parse_operator_lines("\n".join(lines), "p.operators")[1]
    told = [str(fault) for fault in faults]
    assert len(told) == len(lines)
    for line, expected in zip(told, lines.values(), strict=True):
        assert line.startswith(f"p.operators:{expected}")
