"""What is wrong with a peer, and what to do about it: ``heptox peer doctor``.

Everything is looked at, whatever was found before; what needs the network is looked at by the daemon, when it runs.
"""

from __future__ import annotations

import resource
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heptox import __version__
from heptox.errors import HeptoxError
from heptox.feed import FeedLog
from heptox.mapping import load_packed_mapping
from heptox.matching import SubscriptionLog
from heptox.peer.acquaintance.acquainting import schema_at, schema_key
from heptox.peer.control.endpoint import TOKEN
from heptox.peer.folder.audit import AUDIT, FULL, MEGABYTE, audit_faults
from heptox.peer.folder.files import LOCK, is_locked
from heptox.peer.folder.folder import FEED, KEPT_ADDRESS, KEY, SETTINGS, SUBSCRIPTIONS, Acquaintance, PeerFolder
from heptox.peer.models.control import Finding, Level
from heptox.peer.wire.address import Listening
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.standing import Side, Standing

if TYPE_CHECKING:
    from heptox.peer.acquaintance.register import Known

LEAST_FREE: Final = 256 * 1024 * 1024
"""Bytes that should be free beside as much as the documents take."""
LEAST_FILES: Final = 1024
"""Files that a daemon should be allowed to have open: connections are files."""
MANY_AUDITED: Final = 16
"""Audit logs that were full, beyond which it is worth to move some of them."""
LIBP2P: Final = "0.8.1"
"""The one version of libp2p that heptox speaks with."""
MOST_APART: Final = 60.0
"""Seconds by which the clocks of two peers may differ before audit logs are hard to compare."""


def examine_folder(path: Path) -> list[Finding]:
    """What can be seen of a peer in its folder, whether its daemon runs or not."""
    try:
        folder = PeerFolder.open(path)
    except HeptoxError as error:
        return list(_faults("settings and key", error, f"mend {SETTINGS}, or restore {KEY} from a backup"))
    findings = [
        Finding("settings and key", Level.OK, f"{folder.settings.name}, {folder.identity.peer_id}"),
        *_versions(),
        *_key(folder),
        *_schema(folder),
        *_documents(folder),
        *_space(folder),
        *_audit(folder),
        *_subscriptions(folder),
        *_feed(folder),
        *_clock(folder),
        *_open_files(),
        *_address(folder),
        *_audited_lines(folder),
    ]
    try:
        for acquaintance in folder.acquaintances():
            findings += _acquaintance(folder, acquaintance)
    except HeptoxError as error:
        findings += _faults("acquaintances", error, "mend or remove the file, and acquaint the peer anew")
    return findings


def _faults(subject: str, error: HeptoxError, advice: str) -> Iterator[Finding]:
    return (Finding(subject, Level.FAULT, str(fault), advice) for fault in error.faults)


def _versions() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    try:
        installed = version("libp2p")
    except PackageNotFoundError:
        installed = "not installed"
    message = f"heptox {__version__}, Python {python}, libp2p {installed}"
    if installed == LIBP2P:
        yield Finding("versions", Level.OK, message)
    else:
        advice = f"install heptox anew, with libp2p {LIBP2P}: what it mends of libp2p is of that version"
        yield Finding("versions", Level.FAULT, message, advice)


def _key(folder: PeerFolder) -> Iterator[Finding]:
    if (mode := _mode(folder.path / KEY)) & 0o077:
        message = f"others than its owner may read the private key ({mode:04o})"
        yield Finding("key", Level.FAULT, message, f"chmod 600 {folder.path / KEY}, and think of who has read it")
    if (mode := _mode(folder.path)) & 0o077:
        message = f"others than its owner may look into the folder ({mode:04o})"
        yield Finding("folder", Level.WARNING, message, f"chmod 700 {folder.path}")
    token = folder.path / TOKEN
    if _mode(token) & 0o007:
        message = f"everybody may read the secret of the control API ({_mode(token):04o})"
        yield Finding("token", Level.FAULT, message, f"remove {token}, and start the daemon anew, which makes another")


def _mode(file: Path) -> int:
    """The permissions of a file; none when it is not there."""
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return 0


def _schema(folder: PeerFolder) -> Iterator[Finding]:
    try:
        graph = folder.schema()
    except HeptoxError as error:
        yield from _faults("schema", error, f"mend {folder.settings.schema}")
    else:
        yield Finding("schema", Level.OK, f"{graph.root}, {len(graph.elements)} element types")


def _documents(folder: PeerFolder) -> Iterator[Finding]:
    files = folder.document_files()
    unreadable = [file for file in files if not _readable(file)]
    for file in unreadable:
        yield Finding("documents", Level.FAULT, f"{file.name} cannot be read", "mend its permissions, or load it anew")
    if not files:
        yield Finding("documents", Level.WARNING, "there are none", "load some with `heptox peer load`")
    elif not unreadable:
        yield Finding("documents", Level.OK, f"{len(files)}, {sum(map(file_size, files)):,} bytes")


def _readable(file: Path) -> bool:
    try:
        with file.open("rb"):
            return True
    except OSError:
        return False


def file_size(file: Path) -> int:
    """Bytes in a file; none when it is not there any more."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _space(folder: PeerFolder) -> Iterator[Finding]:
    free = shutil.disk_usage(folder.path).free
    taken = sum(map(file_size, folder.document_files()))
    enough = free >= LEAST_FREE + taken
    advice = "" if enough else "make room: a full disk refuses loads, and answers to others that cannot be logged"
    yield Finding("disk", Level.OK if enough else Level.WARNING, f"{free:,} bytes are free", advice)


def _audit(folder: PeerFolder) -> Iterator[Finding]:
    file = folder.path / AUDIT
    if file.exists():
        try:
            with file.open("ab"):
                pass
        except OSError as error:
            message = f"it cannot be written: {error.strerror or error}"
            advice = f"mend the permissions of {file}: until then queries of others are refused"
            yield Finding("audit log", Level.FAULT, message, advice)
            return
    full = list(folder.path.glob(FULL))
    size = file_size(file) + sum(map(file_size, full))
    many = len(full) >= MANY_AUDITED or size >= MANY_AUDITED * folder.settings.audit_megabytes * MEGABYTE
    advice = f"move {FULL} to where you keep such files: the daemon needs them no more" if many else ""
    message = f"{len(full) + file.exists()} files, {size:,} bytes"
    yield Finding("audit log", Level.WARNING if many else Level.OK, message, advice)


def _subscriptions(folder: PeerFolder) -> Iterator[Finding]:
    subject, file = "subscriptions", folder.path / SUBSCRIPTIONS
    if not file_size(file):
        return  # nobody has subscribed or published yet
    try:
        with SubscriptionLog(file) as log:
            problems, totals = log.check(), log.totals()
    except HeptoxError as error:
        yield from _faults(subject, error, "the daemon does not start without it: do as it says")
        return
    if problems:
        advice = f"stop the daemon, and restore {SUBSCRIPTIONS} from a backup"
        yield Finding(subject, Level.FAULT, f"their log is damaged: {'; '.join(problems[:_SHOWN])}", advice)
        return
    counts = (
        f"{totals.subscriptions:,}, {totals.backlog:,} notifications not acknowledged, {totals.dead:,} dead letters"
    )
    if totals.suspended:
        advice = "`heptox subscription list` names them; each goes on when its whole backlog is acknowledged"
        yield Finding(subject, Level.WARNING, f"{counts}; {totals.suspended:,} are suspended", advice)
    else:
        yield Finding(subject, Level.OK, counts)


_SHOWN: Final = 5
"""Problems of one file that are shown."""


def _feed(folder: PeerFolder) -> Iterator[Finding]:
    subject, file = "feed log", folder.path / FEED
    if not file_size(file):
        return  # it has not run since it takes part in feeds
    try:
        with FeedLog(file) as log:
            problems, position, known = log.check(), log.position, len(log.reached())
    except HeptoxError as error:
        yield from _faults(subject, error, "the daemon does not start without it: do as it says")
        return
    if problems:
        advice = f"stop the daemon, and move {file} away for a new one; a copy of it must not be restored"
        yield Finding(subject, Level.FAULT, f"it is damaged: {'; '.join(problems[:_SHOWN])}", advice)
    else:
        message = f"{position:,} documents were published for others, {known:,} others are listened to"
        yield Finding(subject, Level.OK, message)


def _clock(folder: PeerFolder) -> Iterator[Finding]:
    newest = max(map(_modified, folder.path.iterdir()), default=0.0)
    if newest > time.time() + MOST_APART:
        message = "the folder has files from the future: the clock is behind, or was ahead"
        yield Finding("clock", Level.WARNING, message, "let the system keep its time (NTP)")


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _open_files() -> Iterator[Finding]:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed != resource.RLIM_INFINITY and allowed < LEAST_FILES:
        message = f"a process may have {allowed} files open"
        yield Finding("open files", Level.WARNING, message, f"allow {LEAST_FILES} (ulimit -n, or LimitNOFILE)")


def _address(folder: PeerFolder) -> Iterator[Finding]:
    settings = folder.settings
    endpoint = folder.endpoint()
    if not is_locked(folder.path / LOCK) and (error := endpoint.trouble()) is not None:
        advice = "set another `listen` in peer.toml, or end who uses it"
        if endpoint != Listening.parse(settings.listen):
            advice = f"remove {folder.path / KEPT_ADDRESS} for another free port, or end who uses it"
        yield Finding("address", Level.FAULT, f"{endpoint}: {error.strerror or error}", advice)
    announced = Listening.parse(settings.announce) if settings.announce else endpoint
    if announced.is_unspecified:
        message = f"others are told {announced}, where nobody can be reached"
        yield Finding("address", Level.FAULT, message, "set `announce` in peer.toml to the address that others see")
    elif announced.is_loopback:
        message = f"others are told {announced}: only peers on this machine reach it"
        yield Finding("address", Level.WARNING, message, "set `listen`, and `announce` where that is another address")
    else:
        yield Finding("address", Level.OK, f"others are told {announced}")


def _acquaintance(folder: PeerFolder, acquaintance: Acquaintance) -> Iterator[Finding]:
    subject = f"mapping to {acquaintance.name}"
    try:
        files = MappingFiles.read(acquaintance.mapping)
        mapping = load_packed_mapping(files.files, files.mapping, acquaintance.mapping.parent)
        same = schema_key(schema_at(mapping, acquaintance.side)) == schema_key(folder.schema())
    except HeptoxError as error:
        yield from _faults(subject, error, "draw it anew, check it with `heptox map check`, and acquaint the peer anew")
        return
    if not same:
        message = "it is for another schema than the one that this peer has now"
        yield Finding(subject, Level.FAULT, message, "draw it anew for the new schema, and acquaint the peer anew")
        return
    makes_source, makes_target = mapping.against, mapping.along
    ours, theirs = (makes_source, makes_target) if acquaintance.side is Side.SOURCE else (makes_target, makes_source)
    if ours and theirs:
        yield Finding(subject, Level.OK, f"{len(ours) + len(theirs)} rules, version {acquaintance.version}")
    elif not ours and not theirs:
        yield Finding(subject, Level.WARNING, "it has no rules: no query can be translated", "draw arrows")
    else:
        whose = "our queries" if theirs else "its queries"
        advice = "let it be drawn for both directions: arrows, or a file of rules with both sections"
        yield Finding(subject, Level.WARNING, f"it serves one direction: {whose} cannot be translated", advice)


def known_findings(known: Known, *, reached: bool) -> Iterator[Finding]:
    """What was seen of an acquaintance when it was looked for."""
    one = known.acquaintance
    if not one.standing.in_force:
        advice = "`heptox peer acquaint` offers it anew; `heptox peer acquaintances --withdraw` forgets it"
        yield Finding(one.name, Level.WARNING, f"{one.standing}: {one.reason}", advice)
        return
    if not reached:
        advice = "ask whether its daemon runs and is reachable; if it has moved, acquaint it at its new address"
        yield Finding(one.name, Level.FAULT, f"{one.address} is not reached", advice)
    elif one.standing is Standing.AGREED:
        yield Finding(one.name, Level.OK, f"agreed, connected at {one.address}")
    else:
        advice = "talk to its administrator; `heptox peer acquaint` offers it anew"
        yield Finding(one.name, Level.WARNING, f"{one.standing}: {one.reason}", advice)
    if reached and known.other:
        advice = "ask for its new schema, draw the mapping anew, and acquaint it anew"
        yield Finding(one.name, Level.FAULT, known.other, advice)
    if reached and known.clock is not None and abs(known.clock) > MOST_APART:
        message = f"its clock is {abs(known.clock):.0f} seconds {'ahead of' if known.clock > 0 else 'behind'} ours"
        yield Finding(one.name, Level.WARNING, message, "let both systems keep their time (NTP)")


def _audited_lines(folder: PeerFolder) -> Iterator[Finding]:
    try:
        faults = audit_faults(folder.path)
    except OSError:  # which is found otherwise
        return
    for fault in faults:
        advice = "look for them in a backup, and at who may write in the peer's folder"
        yield Finding("lines of the audit log", Level.FAULT, fault, advice)


def service_findings(
    *, audit_failing: bool, exports_behind: bool, failures: Mapping[str, int], denied: int
) -> Iterator[Finding]:
    """What a daemon knows of its own work."""
    if failures:
        message = ", ".join(f"{task}: {count}" for task, count in sorted(failures.items()))
        advice = "the log of the daemon has the tracebacks: tell the makers of heptox"
        yield Finding("tasks that have failed", Level.WARNING, message, advice)
    if denied:
        yield Finding("strangers", Level.OK, f"{denied} questions of peers that may not ask were refused")
    if audit_failing:
        message = "the disk takes no lines: queries of others are refused"
        yield Finding("audit log", Level.FAULT, message, "make room, or mend the disk; the daemon goes on by itself")
    if exports_behind:
        message = "what others may see is not up to date: their queries are refused"
        yield Finding("export policy", Level.FAULT, message, "make room if the disk is full, and start the daemon anew")


def request_finding(name: str) -> Finding:
    """An offer that waits for the administrator, of somebody who goes by ``name``."""
    advice = "decide with `heptox peer acquaintances --accept` or `--refuse`"
    return Finding(name, Level.WARNING, "offers an acquaintance, and waits", advice)
