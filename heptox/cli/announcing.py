"""What is said of subscriptions in a network, for the commands that add them: from whom nothing comes, or not all."""

from __future__ import annotations

from heptox.cli.output import print_note
from heptox.peer import RenderingModel, SubscriptionsAdded, Understanding


def print_announced(added: SubscriptionsAdded) -> None:
    """Print, on stderr, from whom nothing comes yet for subscriptions that were added, or not all."""
    for publisher in added.unconfirmed:
        print_note(f"{publisher} has not confirmed it yet: what it publishes until then does not come")
    for publisher in added.unreached:
        print_note(f"{publisher} cannot be reached: what it publishes until it is and confirms it does not come")
    for name in added.untold:
        print_note(f"{name} is too long to be sent to others: what they publish may not come")
    for one in added.untranslated:
        print_note(f"{one.subscription}: {lacking(one)}")


def lacking(one: RenderingModel) -> str:
    """What a subscription in own words lacks at a publisher."""
    lost = "; ".join(one.losses)
    if one.reason:
        when = "yet" if one.words is Understanding.WAITING else "for it"
        return f"nothing comes from {one.name} {when}: {one.reason}{f' ({lost})' if lost else ''}"
    return f"on the way to {one.name} is lost: {lost}"
