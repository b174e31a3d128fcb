"""All commands in one table. A command's module is imported only when that command is invoked.

A key is what the user types after ``heptox``; a command of two words belongs to the group of its first word. A value
is where the function is, and the line that lists it. The function is an ordinary typer command (annotated parameters;
its docstring, which begins with the same line, is its help).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a command's function is (``module:function``), and the line that lists it."""

    function: str
    summary: str

    def load(self) -> Callable[..., Any]:
        """Import the command's module and return its function."""
        module, _, name = self.function.partition(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return loaded


GROUPS: Final[dict[str, str]] = {
    "schema": "Schemas: what a DTD or an XSD says, and schemas for documents that have none.",
    "map": "Mappings: arrows, the rules inferred from them, and exchange.",
    "subscription": "Subscriptions: which of the documents that are published at a peer it notifies of.",
    "feed": "Feeds: what other peers publish, and where documents go.",
    "peer": "Peers: their folders, daemons, documents and acquaintances.",
}
"""The groups of two-word commands, with the line that lists each."""

COMMANDS: Final[dict[str, CommandEntry]] = {
    "demo": CommandEntry("heptox.cli.demo:demo", "Start three hospitals as peers, ask them three questions, live."),
    "schema infer": CommandEntry(
        "heptox.cli.inferring:infer", "Infer a schema that all given documents are valid for."
    ),
    "schema show": CommandEntry("heptox.cli.schema:show", "Show the tree of a schema, or its groups."),
    "schema check": CommandEntry("heptox.cli.schema_checking:check", "Check whether documents are valid for a schema."),
    "map check": CommandEntry("heptox.cli.mapping:check", "Check a mapping; every fault is reported in one run."),
    "map show": CommandEntry("heptox.cli.mapping:show", "Print a mapping as rules, which can be edited and loaded."),
    "map apply": CommandEntry("heptox.cli.mapping:apply", "Print the document that a mapping makes of a document."),
    "map suggest": CommandEntry("heptox.cli.suggesting:suggest", "Suggest the lines of a mapping between two schemas."),
    "map test": CommandEntry(
        "heptox.cli.verifying:verify",
        "Test a mapping on random documents and queries; print the smallest counterexample.",
    ),
    "translate": CommandEntry(
        "heptox.cli.translate:translate", "Translate a query along or against a mapping, or along a path of mappings."
    ),
    "eval": CommandEntry(
        "heptox.cli.evaluate:evaluate", "Evaluate a query on documents, one item of the answer a line."
    ),
    "peer init": CommandEntry("heptox.cli.peer:init", "Make the folder of a new peer."),
    "peer start": CommandEntry("heptox.cli.daemon:start", "Run the daemon of a peer until it is stopped."),
    "peer stop": CommandEntry("heptox.cli.peer:stop", "Stop the daemon of a peer."),
    "peer status": CommandEntry("heptox.cli.peer:status", "Show who a peer is, what it holds, and whom it knows."),
    "peer load": CommandEntry(
        "heptox.cli.peer:load", "Load documents into a peer, or remove some, whether its daemon runs or not."
    ),
    "peer acquaint": CommandEntry("heptox.cli.peer:acquaint", "Make another peer an acquaintance."),
    "peer acquaintances": CommandEntry(
        "heptox.cli.peer:acquaintances",
        "List the acquaintances of a peer, and who offers to become one; accept, refuse or end one.",
    ),
    "peer doctor": CommandEntry("heptox.cli.peer:doctor", "Find what is wrong with a peer, and say what to do."),
    "subscription add": CommandEntry(
        "heptox.cli.subscription:add", "Add a subscription to a peer, or many from a file, one XPath a line."
    ),
    "subscription remove": CommandEntry(
        "heptox.cli.subscription:remove", "Remove subscriptions, with their backlogs and dead letters."
    ),
    "subscription list": CommandEntry(
        "heptox.cli.subscription:list_all", "List the subscriptions of a peer, and how far each is."
    ),
    "subscription info": CommandEntry("heptox.cli.subscription:info", "Show one subscription, and how far it is."),
    "subscription ack": CommandEntry(
        "heptox.cli.subscription:ack", "Acknowledge the notifications of a subscription up to a sequence number."
    ),
    "subscription replay": CommandEntry(
        "heptox.cli.subscription:replay", "Print the notifications of a subscription, and follow them."
    ),
    "subscription dlq": CommandEntry(
        "heptox.cli.subscription:dlq", "List the dead letters of a subscription: what is not delivered, and why."
    ),
    "subscription match": CommandEntry(
        "heptox.cli.matching:match", "Match documents with the subscriptions of a file, without a peer."
    ),
    "feed status": CommandEntry(
        "heptox.cli.feed:status", "Show the publishers that a running peer reaches, and what its neighbours want."
    ),
    "feed route": CommandEntry(
        "heptox.cli.feed:route", "Show to which neighbours a document would go from a running peer."
    ),
    "publish": CommandEntry("heptox.cli.publish:publish", "Publish documents at one's own peer."),
    "rewrite": CommandEntry(
        "heptox.cli.rewriting:rewrite", "Write a document in the words of another schema, while it is read."
    ),
    "filter": CommandEntry(
        "heptox.cli.filtering:filter_documents",
        "Filter documents by many XPaths at once, and write what each of them selects.",
    ),
    "query": CommandEntry("heptox.cli.query:query", "Ask the network through one's own peer."),
    "console": CommandEntry(
        "heptox.cli.console:console", "Open the console of a running peer in the browser: draw arrows, ask, watch."
    ),
    "emulate": CommandEntry(
        "heptox.cli.emulate:emulate",
        "Emulate a network of peers on Spark: queries spread, answers return, and all of them are checked.",
    ),
}
"""The commands, in the order in which help lists them."""
