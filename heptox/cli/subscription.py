"""``heptox subscription``: what one's own peer reports of the documents that are published at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from heptox.cli.announcing import lacking, print_announced
from heptox.cli.answers import console, print_table
from heptox.cli.choosing import PeerOption, chosen_peer
from heptox.cli.inputs import STANDARD_INPUT, Json, Namespace, bound_prefixes, subscription_lines
from heptox.cli.output import (
    ExitCode,
    json_line,
    on_terminal,
    print_error,
    print_faults,
    print_json,
    print_note,
    print_result,
)
from heptox.errors import Fault, HeptoxError, InputError
from heptox.matching import MOST_BACKLOG, MOST_BACKLOG_BYTES, Delivery, Options, Policy, SubscriptionRequest, Words
from heptox.peer import (
    NotificationModel,
    PeerFolder,
    SubscriptionEntry,
    SubscriptionModel,
    SubscriptionsAdded,
    SubscriptionsRequest,
    subscriptions_at,
)
from heptox.printable import on_one_line
from heptox.xml import NO_PREFIXES, file_name

Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The name of a subscription.")]
_STANDARD = Options()


def add(
    name: Annotated[str | None, typer.Argument(metavar="[NAME", show_default=False, help="What to call it.")] = None,
    xpath: Annotated[
        str | None, typer.Argument(metavar="XPATH]", show_default=False, help="What a document is to match.")
    ] = None,
    *,
    file: Annotated[
        str | None, typer.Option("-f", "--file", metavar="FILE", help="Add many: one XPath a line; - is stdin.")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="With --file: they are called TEXT-LINE; else as the file, without what ends it."
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="With --file: add the others where a line cannot be; exit code 3.")
    ] = False,
    policy: Annotated[
        Policy, typer.Option(help="What to do when the backlog is full; docs/subscriptions.md says it.")
    ] = _STANDARD.policy,
    backlog: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=MOST_BACKLOG, help="How many notifications may wait to be acknowledged."),
    ] = _STANDARD.backlog,
    backlog_bytes: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST_BACKLOG_BYTES, help="How large their documents may be together.")
    ] = _STANDARD.backlog_bytes,
    words: Annotated[
        Words,
        typer.Option(
            help="In whose words it is: theirs, of whoever publishes; own, of this peer's schema, translated."
        ),
    ] = _STANDARD.words,
    deliver: Annotated[
        Delivery,
        typer.Option(
            help="With --words own: deliver documents as they are, or in this peer's own schema; or XPATH is a query, "
            "and its answers on each document are delivered."
        ),
    ] = _STANDARD.deliver,
    namespace: Namespace = None,
    peer: PeerOption = None,
    json: Json = False,
) -> None:
    """Add a subscription to a peer, or many from a file, one XPath a line.

    It is on the disk when the command ends, and meets every document that is published from then on. The very same one
    again changes nothing. Of a file, empty lines and those that begin with # are left out; every line that cannot be is
    reported with its place, and nothing is added then unless --skip-bad says so.

    With --words own it is in the words of the peer's own schema. For each publisher it is translated along the mappings
    that the peers on the way have agreed on; where there is no way, or something is lost on it, that is reported.

    Prefixes are those of the peer's schema, those that --namespace binds, and those that lines of FILE such as
    declare namespace p = "urn:p"; declare before the XPaths.
    """
    path = chosen_peer(peer)
    prefixes = bound_prefixes(namespace)
    if file is None:
        if name is None or xpath is None or prefix is not None or skip_bad:
            raise typer.BadParameter("give NAME XPATH, or --file FILE with its options")
        SubscriptionRequest(name, xpath)  # checks itself
        wanted: tuple[SubscriptionEntry, ...] = (SubscriptionEntry(name=name, xpath=xpath),)
    elif name is not None:
        raise typer.BadParameter("give either NAME XPATH or --file FILE")
    elif file == STANDARD_INPUT and prefix is None:
        raise InputError(Fault("HX1001", "has no name", file=file_name(file), hint="give --prefix"))
    else:
        declared, lines = subscription_lines(file)
        prefixes = prefixes.with_more(dict(declared.bound))
        before = Path(file).stem if prefix is None else prefix
        wanted = tuple(SubscriptionEntry(name=f"{before}-{number}", xpath=line, line=number) for number, line in lines)
    request = SubscriptionsRequest(
        subscriptions=wanted,
        file=None if file is None else file_name(file),
        policy=policy,
        backlog=backlog,
        backlog_bytes=backlog_bytes,
        words=words,
        deliver=deliver,
        skipping=skip_bad,
        **({"namespaces": dict(prefixes.bound)} if prefixes else {}),
    )
    with subscriptions_at(path) as subscriptions:
        added = subscriptions.subscribe(request)
    _print_added(added, name, json)
    print_announced(added)
    if added.faults:
        raise typer.Exit(ExitCode.INCOMPLETE)


def remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The names of subscriptions.")],
    peer: PeerOption = None,
) -> None:
    """Remove subscriptions, with their backlogs and dead letters.

    What was not acknowledged is reported. Documents that are published from then on do not meet them.
    """
    path = chosen_peer(peer)
    missing = False
    with subscriptions_at(path) as subscriptions:
        for name in names:
            try:
                backlog = subscriptions.unsubscribe(name).backlog
            except HeptoxError as error:
                if any(fault.code != "HX9061" for fault in error.faults):
                    raise
                print_faults(error)
                missing = True
            else:
                waiting = f", {_count(backlog, 'notification')} not acknowledged" if backlog else ""
                print_result(f"{name}: removed{waiting}")
    if missing:
        raise typer.Exit(ExitCode.WRONG_INPUT)


def list_all(peer: PeerOption = None, json: Json = False) -> None:
    """List the subscriptions of a peer, and how far each is.

    With --json, one object a line.
    """
    path = chosen_peer(peer)
    with subscriptions_at(path) as subscriptions:
        found = subscriptions.subscriptions()
        if json:
            _print_lines(found)
            return
        shown = _shown(path)
        columns = ("subscription", "last", "acknowledged", "backlog", "lag", "dead letters", "policy", "xpath")
        rows = (
            (
                one.name,
                str(one.last),
                str(one.acknowledged),
                str(one.backlog),
                _lag(one),
                str(one.dead_letters),
                _policy(one),
                on_one_line(one.xpath) if one.deliver is Delivery.ANSWERS else shown(one.xpath),
            )
            for one in found
        )
        print_table(console(sys.stdout), columns, rows)


def info(name: Name, peer: PeerOption = None, json: Json = False) -> None:
    """Show one subscription, and how far it is.

    Of its sequence numbers: the last one that was given, up to which it is acknowledged, up to which it was handed out,
    and from which on it can be replayed.
    """
    path = chosen_peer(peer)
    with subscriptions_at(path) as subscriptions:
        found = subscriptions.subscription(name)
    if json:
        print_json(found)
        return
    _print_info(found, _shown(path))


def ack(
    name: Name,
    sequence: Annotated[int, typer.Argument(metavar="SEQUENCE", min=0, help="Up to which number.")],
    reject: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="Make a dead letter of that one; those before it are acknowledged."),
    ] = None,
    peer: PeerOption = None,
    json: Json = False,
) -> None:
    """Acknowledge the notifications of a subscription up to a sequence number.

    It is on the disk when the command ends. To acknowledge again, or less than before, changes nothing.
    """
    with subscriptions_at(chosen_peer(peer)) as subscriptions:
        found = subscriptions.acknowledge(name, sequence, reject)
    if json:
        print_json(found)
    else:
        waiting = f", {_count(found.backlog, 'notification')} to go" if found.backlog else ""
        print_result(f"{name}: acknowledged up to {found.acknowledged}{waiting}")


def replay(
    name: Name,
    start: Annotated[
        int | None, typer.Option("--from", metavar="SEQUENCE", min=1, help="Begin at a sequence number.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            formats=["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"],
            help="Begin at a time such as 2026-01-31T12:00:00Z; UTC unless it says its zone.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Print at most so many.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as documents are published, until Ctrl-C.")] = False,
    acknowledge: Annotated[
        bool, typer.Option("--ack", help="Acknowledge each when it was printed; not with --from and --since.")
    ] = False,
    content: Annotated[bool, typer.Option("--content", help="With --json: print the documents too.")] = False,
    document: Annotated[
        int | None,
        typer.Option(metavar="SEQUENCE", min=1, help="Print the document of one notification, byte for byte."),
    ] = None,
    peer: PeerOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
) -> None:
    """Print the notifications of a subscription, and follow them.

    Begins with the first one that is not acknowledged, unless --from or --since says where. Of each it prints the
    sequence number, when the document was published, its size in bytes and its name. The same numbers always mean the
    same documents. What is not acknowledged comes again.
    """
    if start is not None and since is not None:
        raise typer.BadParameter("give one of --from, --since")
    if acknowledge and (start is not None or since is not None):
        # an acknowledgement is of all that is before, too, which would not be printed
        raise typer.BadParameter("--ack begins with what is not acknowledged: it does not go with --from and --since")
    if document is not None and follow:
        raise typer.BadParameter("give one of --document, --follow")
    if content and not json:
        raise typer.BadParameter("--content goes with --json")
    path = chosen_peer(peer)
    with subscriptions_at(path) as subscriptions:
        if document is not None:
            _print_bytes(subscriptions.document(name, document))
            return
        then = None if since is None else (since if since.tzinfo else since.replace(tzinfo=UTC)).isoformat()
        for one in subscriptions.notifications(name, start, then, limit, follow=follow, content=content):
            _print_notification(one, json)
            if acknowledge:
                subscriptions.acknowledge(name, one.sequence)


def dlq(
    name: Name,
    after: Annotated[int, typer.Option(metavar="LETTER", min=0, help="List those that follow this one.")] = 0,
    document: Annotated[
        int | None,
        typer.Option(metavar="LETTER", min=1, help="Print the document of one dead letter, byte for byte."),
    ] = None,
    peer: PeerOption = None,
    json: Json = False,
) -> None:
    """List the dead letters of a subscription: what is not delivered, and why.

    With --json, one object a line.
    """
    with subscriptions_at(chosen_peer(peer)) as subscriptions:
        if document is not None:
            _print_bytes(subscriptions.dead_document(name, document))
            return
        found = subscriptions.dead_letters(name, after)
        if json:
            _print_lines(found)
            return
        rows = (
            (
                str(one.letter),
                "-" if one.sequence is None else str(one.sequence),
                one.time,
                on_one_line(one.document),
                "yes" if one.kept else "no",
                on_one_line(one.reason),
            )
            for one in found
        )
        print_table(console(sys.stdout), ("letter", "sequence", "time", "document", "kept", "reason"), rows)


# -- what the commands share -----------------------------------------------------------------------------------------


def _print_added(added: SubscriptionsAdded, name: str | None, json: bool) -> None:
    if json:
        print_json(added)
        return
    for fault in added.faults:
        print_error(str(fault))
    if name is not None:
        print_result(f"{name}: {'new' if added.added else 'held'}")
        return
    held = f", {added.held:,} held" if added.held else ""
    print_result(f"{added.added:,} added{held}")
    if added.faults:
        print_note(f"{len(added.faults):,} left out")


def _shown(path: Path) -> Callable[[str], str]:
    """How XPaths are shown: on one line, with the prefixes of the peer's schema."""
    from heptox import grammar  # which takes long to load

    prefixes = NO_PREFIXES
    with suppress(HeptoxError):  # what is wrong with the schema is said elsewhere
        prefixes = PeerFolder.open(path).schema().prefixes
    return lambda xpath: on_one_line(grammar.with_prefixes(xpath, prefixes))


def _print_info(found: SubscriptionModel, shown: Callable[[str], str]) -> None:
    xpath = on_one_line(found.xpath) if found.deliver is Delivery.ANSWERS else shown(found.xpath)
    print_result(f"{found.name}: {xpath}")
    print_result(f"added {found.added}, number {found.number}")
    print_result(
        f"last {found.last}, acknowledged {found.acknowledged}, handed out {found.delivered}, kept from {found.first}"
    )
    most = f"at most {found.most:,}, {found.most_bytes:,} bytes"
    print_result(
        f"backlog {found.backlog:,}, {found.backlog_bytes:,} bytes ({most}), lag {_lag(found)}, policy {found.policy}"
    )
    forgotten = f", {found.forgotten:,} more are not listed any more" if found.forgotten else ""
    print_result(f"dead letters {found.dead_letters:,}{forgotten}")
    if found.words is Words.OWN:
        print_result(f"in the words of this peer, delivers {_DELIVERS[found.deliver]}")
    for one in found.publishers or ():
        if one.text is not None:
            superset = "" if one.exact else " (what comes is looked through)"
            print_result(f"{one.name} is asked for{superset}: {on_one_line(one.text)}")
        if one.reason or one.losses:
            print_result(lacking(one))
    if found.suspended:
        print_result(f"suspended since {found.suspended}: acknowledge the whole backlog for it to go on")


_DELIVERS: Final = {
    Delivery.ORIGINAL: "the original documents",
    Delivery.OWN: "documents in its schema",
    Delivery.ANSWERS: "the answers of the query on each document",
}


def _print_notification(one: NotificationModel, json: bool) -> None:
    if json:
        line = json_line(one)
    else:
        line = "\t".join((str(one.sequence), one.published, str(one.bytes), on_one_line(one.document)))
    print_result(line)
    sys.stdout.flush()


def _print_lines(values: Iterable[object]) -> None:
    for value in values:
        print_result(json_line(value))


def _print_bytes(data: bytes) -> None:
    if on_terminal():
        print_result(data.decode(errors="surrogateescape"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _policy(one: SubscriptionModel) -> str:
    return f"{one.policy}, suspended" if one.suspended else str(one.policy)


def _lag(one: SubscriptionModel) -> str:
    return "-" if one.lag is None else f"{one.lag:.0f} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
