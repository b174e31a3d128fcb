"""``heptox demo``, whose peers are forked: ``python -m tests.cli.forked_demo``, with its options."""

from __future__ import annotations

import sys
from unittest import mock

from heptox.cli import main
from tests.peer.daemons import starting

if __name__ == "__main__":
    with mock.patch("heptox.demo.network._start", starting):
        main(["demo", *sys.argv[1:]])
