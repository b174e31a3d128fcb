"""The progress of long work: on a terminal, and nowhere else."""

from __future__ import annotations

import io

import pytest

from heptox.cli.progress import LONG, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_a_bar_with_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar("records[1].xml", 2 * LONG) as progress:
        assert progress is not None
        progress(LONG)
        progress(2 * LONG)
    assert "records[1].xml" in err.getvalue()
    assert "8.4/8.4 MB" in err.getvalue()


@pytest.mark.parametrize(("err", "size"), [(Terminal(), LONG - 1), (io.StringIO(), 2 * LONG)])
def test_short_work_and_what_is_no_terminal_show_nothing(
    monkeypatch: pytest.MonkeyPatch, err: io.StringIO, size: int
) -> None:
    monkeypatch.setattr("sys.stderr", err)
    with progress_bar("records.xml", size) as progress:
        assert progress is None
    assert err.getvalue() == ""
