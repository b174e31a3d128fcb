"""Addresses of masters: which there are, and whether a master listens there."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Final

from heptox.errors import ClusterError, Fault

_CONNECTING: Final = 5.0
"""Seconds in which a master has to take a connection."""

_LOCAL: Final = re.compile(r"local(\[([1-9]\d*|\*)(, ?[1-9]\d*)?\])?")
_LOCAL_CLUSTER: Final = re.compile(r"local-cluster\[ ?[1-9]\d*, ?[1-9]\d*, ?[1-9]\d* ?\]")
_ADDRESS: Final = re.compile(r"(?P<host>[^\s/@:,\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<port>\d{1,5})")
_KUBERNETES: Final = re.compile(r"k8s://(https?://)?[^\s/@:,]+(:\d{1,5})?(/\S*)?")


@dataclass(frozen=True, slots=True)
class Master:
    """The master of a cluster. ``addresses`` are the hosts and ports of a standalone cluster's masters."""

    url: str
    addresses: tuple[tuple[str, int], ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether the driver does all the work itself."""
        return _LOCAL.fullmatch(self.url) is not None

    @property
    def is_on_this_machine(self) -> bool:
        """Whether all the work is done on the driver's machine."""
        return self.url.startswith("local")


def read_master(text: str) -> Master:
    """The master that an address means.

    Raises :class:`ClusterError` (HX8004) for what is no address of a master.

    >>> read_master("spark://one:7077,two:7077").addresses
    (('one', 7077), ('two', 7077))
    """
    if text == "yarn" or any(form.fullmatch(text) for form in (_LOCAL, _LOCAL_CLUSTER, _KUBERNETES)):
        return Master(text)
    if text.startswith("spark://"):
        found = [_ADDRESS.fullmatch(part) for part in text.removeprefix("spark://").split(",")]
        addresses = tuple((one["host"].strip("[]"), int(one["port"])) for one in found if one)
        if len(addresses) == len(found) and all(0 < port < 2**16 for _, port in addresses):
            return Master(text, addresses)
    hint = "a master is local, local[N], local[*], spark://HOST:PORT, yarn or k8s://HOST:PORT"
    raise ClusterError(Fault("HX8004", f"{text!r} is no address of a master", hint=hint))


def address_facing(master: Master) -> str | None:
    """The address of this machine at which a standalone cluster's master sees it; ``None`` for other masters.

    Raises :class:`ClusterError` (HX8003) where none of the masters takes a connection within a few seconds.
    """
    faults = []
    for host, port in master.addresses:
        try:
            with socket.create_connection((host, port), timeout=_CONNECTING) as connection:
                return str(connection.getsockname()[0])
        except OSError as error:
            faults.append(f"{host}:{port}: {error.strerror or error}")
    if not faults:
        return None
    hint = "is the master running, and is this the address that it prints?"
    raise ClusterError(Fault("HX8003", f"no master answers at {master.url} ({'; '.join(faults)})", hint=hint))
