"""Queries that are followed: printed as their answers come, and acknowledged then."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from heptox import matching  # not its answers: what reads queries is loaded where one is followed
from heptox.cli.announcing import print_announced
from heptox.cli.answers import print_item
from heptox.cli.output import print_json_line, print_note
from heptox.errors import HeptoxError
from heptox.matching import Delivery, SubscriptionRequest, Words
from heptox.peer import Client, SubscriptionEntry, SubscriptionModel, SubscriptionsRequest


@dataclass(frozen=True, slots=True)
class Following:
    """A query that is followed at a running peer by the subscription ``name``; ``has_begun``: somebody has followed it
    before."""

    client: Client
    name: str
    has_begun: bool

    @classmethod
    def begin(cls, client: Client, text: str, file: str | None, name: str | None) -> Following:
        """Go on with the subscription of that name, or add it.

        Raises :class:`PeerError` (HX9060) where another subscription has the name, and as :meth:`Client.subscribe`;
        :class:`DisseminationError` (HX9067) for what can be no name.
        """
        name = name or default_name(text)
        SubscriptionRequest(name, text)  # checks itself
        held = _held(client, name)
        if held is None or not _follows(held, text):
            print_announced(client.subscribe(_request(text, file, name)))
        has_begun = client.subscription(name).first_read is not None
        print_note(f"{'goes on' if has_begun else 'is followed'} as {name}")
        return cls(client, name, has_begun)

    def print_answers(self, limit: int | None, json: bool) -> None:
        """Print the answers on each document, and acknowledge it then, until there were ``limit`` of them."""
        try:
            for one in self.client.notifications(self.name, limit=limit, follow=True, content=True):
                self._print(matching.Answers.from_bytes(one.content or ""), json)
                self.client.acknowledge(self.name, one.sequence)
        except KeyboardInterrupt:
            remove = f"heptox subscription remove {self.name!r}"
            print_note(f"{self.name} is kept: the same command goes on with it, `{remove}` ends it")
            raise

    def _print(self, answers: matching.Answers, json: bool) -> None:
        origin = {"document": answers.document, "id": answers.id, "publisher": answers.publisher}
        for item in answers.items:
            if json:
                print_json_line({"item": item, **origin})
            else:
                print_item(item, answers.document)


def default_name(text: str) -> str:
    """What the subscription of a query is called that was given no name.

    >>> default_name("//Patient/Name")
    'query-6c1e170af76b'
    """
    return f"query-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _held(client: Client, name: str) -> SubscriptionModel | None:
    try:
        return client.subscription(name)
    except HeptoxError as error:
        if any(fault.code != "HX9061" for fault in error.faults):
            raise
        return None


def _follows(held: SubscriptionModel, text: str) -> bool:
    """Whether a subscription follows the query; its policy may be another one."""
    return (held.xpath, held.words, held.deliver) == (text, Words.OWN, Delivery.ANSWERS)


def _request(text: str, file: str | None, name: str) -> SubscriptionsRequest:
    wanted = (SubscriptionEntry(name=name, xpath=text),)
    return SubscriptionsRequest(subscriptions=wanted, file=file, words=Words.OWN, deliver=Delivery.ANSWERS)
