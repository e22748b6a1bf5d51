"""What a cluster's file says, and whether it can be so here: ports, keys, data directories, and who answers."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

from soloist.core import UsageError
from soloist.doctor.daemons import reached, said_by, stopped
from soloist.doctor.disk import data_directory
from soloist.doctor.finding import Finding, State
from soloist.net.link.security import TLS, Address, address
from soloist.net.member.company import USUAL_LEASE, wanted_lease
from soloist.net.service.choice import answers
from soloist.net.service.config import Config, Member, load

SOON_DAYS = 30


def examine_cluster(path: Path | None, name: str | None) -> Iterator[Finding]:
    """Nothing of it is changed, and no node is started."""
    if path is None:
        said = "no cluster.toml here, in $SOLOIST_CONFIG or in /etc/soloist: nodes, ports and disks were not looked at"
        yield _found("file", "absent", said, "soloist doctor --config FILE")
        return
    try:
        config = load(path)
        members = [config.member(name)] if name else list(config.members.values())
        here = [member for member in members if name or is_here(_listens(member))]
    except UsageError as error:
        yield _found("file", "problem", str(error), "docs/operating.md has every key")
        return
    yield _found("file", "ok", f"{path}: cluster {config.cluster}, {len(config.members)} nodes")
    if not here:
        names = ", ".join(config.members)
        yield _found(
            "here", "warning", f"none of its nodes ({names}) has an address of this host", "--name NODE"
        )
    elsewhere = reached([each for each in config.members.values() if each not in here])
    running = {member.name for member in here if answers(member.control)}
    for member in here:
        yield from _node(config, member, member.name in running)
        if member.name in running:
            yield said_by(member)
        elif running or any(each.state == "ok" for each in elsewhere):
            yield stopped(member, path)
    yield from elsewhere


def _found(name: str, state: State, said: str, remedy: str = "") -> Finding:
    return Finding("cluster", name, state, said, remedy)


def _listens(member: Member) -> Address:
    return address(member.listen or member.address)


def is_here(where: Address) -> bool:
    """Whether one can listen at that address on this host, if its port is free."""
    if where.unix or where.anywhere:
        return where.unix
    try:
        for family, kind, _, _, found in socket.getaddrinfo(where.host, 0, type=socket.SOCK_STREAM):
            with socket.socket(family, kind) as probe:
                probe.bind(found)
                return True
    except OSError:
        pass
    return False


def _node(config: Config, member: Member, running: bool) -> Iterator[Finding]:
    """All that one node of this host needs."""
    length = lease(config, member)
    yield leased(member, length)
    yield port(member, running)
    yield control(member, running)
    if member.secret_file:
        yield secret(member, member.secret_file)
    if member.tls:
        yield certificate(member, member.tls)
    if length is not None and not member.etcd:
        yield data_directory(config, member, length)


def lease(config: Config, member: Member) -> float | None:
    """Seconds, as the node itself would find them. (To make the node would make its data directory, too.)"""
    beginners = {each.name: each.address for each in config.members.values() if each.join is None}
    voters = [each.name for each in config.members.values() if each.voter]
    if config.lease == "auto" and member.etcd:
        return USUAL_LEASE
    found = wanted_lease(config.lease, beginners, member.join, voters or None, member.voter_only)
    return found if isinstance(found, float | int) else None


def leased(member: Member, length: float | None) -> Finding:
    if length is None:
        said = "no lease: one node that crashes stops the locks that it shares"
        remedy = "add a third node with voter_only = true (docs/crashes.md)"
        return _found(member.name, "warning", said, remedy)
    who = ", and the etcd decides who is a member" if member.etcd else ""
    return _found(member.name, "ok", f"lease {length:g} s{who}")


def port(member: Member, running: bool) -> Finding:
    """Whether the node could listen, or does."""
    where, name = _listens(member), f"{member.name} port"
    if running:
        return _found(name, "ok", f"{where}: the daemon of {member.name} runs")
    if where.unix:
        return _found(name, "ok", f"{where}")
    try:
        family, kind, _, _, found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(found)
            probe.listen(1)
    except OSError as error:
        remedy = (
            f"ss -ltnp 'sport = :{where.port}' shows who has it" if error.errno == errno.EADDRINUSE else ""
        )
        return _found(name, "problem", f"cannot listen at {where}: {error.strerror}", remedy)
    return _found(name, "ok", f"{where} is free")


def control(member: Member, running: bool) -> Finding:
    """The socket at which programs of this host find the daemon."""
    name, folder = f"{member.name} control", member.control.parent
    if running:
        return _found(name, "ok", f"{member.control} answers")
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        why = "cannot be written" if folder.is_dir() else "does not exist"
        remedy = "make it, or say elsewhere with `control` in the file"
        return _found(name, "problem", f"{folder}, for its socket, {why}", remedy)
    return _found(name, "ok", f"{member.control}; no daemon runs")


def secret(member: Member, path: Path) -> Finding:
    name = f"{member.name} secret"
    try:
        member.secret()
        others = stat.S_IMODE(path.stat().st_mode) & 0o077
    except (UsageError, OSError) as error:
        return _found(name, "problem", str(error), "soloist keys DIR --secret; the same file to all nodes")
    if others:
        return _found(name, "warning", f"others may read {path}", f"chmod 600 {path}")
    return _found(name, "ok", str(path))


def certificate(member: Member, tls: TLS) -> Finding:
    """That it can be read, fits its key, has the node's name, and for how long it is good."""
    name, remedy = f"{member.name} certificate", f"soloist keys DIR {member.name}"
    try:
        tls.server()
        days, names = read_certificate(Path(tls.certificate))
    except (UsageError, OSError, ValueError, ssl.SSLError) as error:
        return _found(name, "problem", str(error), remedy)
    if names is not None and member.name not in names:
        said = f"{tls.certificate} is for {', '.join(names) or 'nobody'}, not for {member.name}"
        return _found(name, "problem", said, remedy)
    if days is None:
        said = f"{tls.certificate}; until when it is good was not looked at"
        return _found(name, "ok", said, "pip install 'soloist[tls]'")
    if days < SOON_DAYS:
        state: State = "warning" if days >= 0 else "problem"
        said = (
            f"ends in {days:.0f} days"
            if days >= 0
            else f"ended {-days:.0f} days ago: nobody lets this node in"
        )
        return _found(name, state, f"{tls.certificate} {said}", remedy)
    return _found(name, "ok", f"{tls.certificate}, good for {days:.0f} days")


def read_certificate(path: Path) -> tuple[float | None, list[str] | None]:
    """The days that it is still good, and the names in it; None without the package that can read it."""
    try:
        from cryptography import x509
    except ImportError:
        return None, None
    from datetime import UTC, datetime

    found = x509.load_pem_x509_certificate(path.read_bytes())
    try:
        alternative = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = alternative.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        names = []
    return (found.not_valid_after_utc - datetime.now(UTC)).total_seconds() / 86400, names
