"""The transactions by which etcd keeps what is agreed upon, one by one, in a real one."""

from __future__ import annotations

import json
import socket
import threading
import time
from base64 import b64encode
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from soloist.net.member.etcd.chair import ETCD
from soloist.net.member.etcd.client import Client, Unreachable
from soloist.net.member.etcd.desk import Watch
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.member.etcd.store import Entry, Store, Unreadable
from soloist.testing import until
from soloist.views import Lease, Node, View

from .etcds import Etcds, needs_etcd

A, B = Node("a", "1" * 32, "10.0.0.1:7400"), Node("b", "2" * 32)
MINUTE = 60


@pytest.fixture
def store(etcds: Etcds, cluster: str) -> Store:
    return Store(etcds.client(), cluster)


def view(epoch: int, *members: Node) -> View:
    return View(epoch=epoch, voters=(ETCD,), members=members, lease=Lease(10, margin=0.2))


@needs_etcd
def test_nobody_is_left_out_whose_entry_is_there(store: Store) -> None:
    for node in (A, B):
        assert store.renew(Entry(node), 0, MINUTE)[0]
    seen = store.decide(view(1, A, B), store.read(), ())
    assert seen.view == view(1, A, B)
    assert {each.node for each in seen.entries.values()} == {A, B}
    marked = store.mark(2, seen)
    assert marked.change == 2
    refused = store.decide(view(2, A), marked, (B.incarnation,))
    assert (refused.view, refused.change) == (seen.view, 2)
    assert store.remove(B.incarnation).entries.keys() == {A.incarnation}
    assert store.decide(view(2, A), refused, (B.incarnation,)).view == view(2, A)
    assert store.read().change == 0


@needs_etcd
def test_who_decides_over_a_view_that_is_no_more_decides_nothing(store: Store) -> None:
    empty = store.read()
    first = store.decide(view(1, A), empty, ())
    assert store.decide(view(1, B), empty, ()).view == view(1, A)
    second = store.decide(view(2, A, B), first, ())
    assert store.decide(view(2, B), first, ()).view == view(2, A, B)
    assert store.mark(2, first).change == 0
    assert store.mark(3, second).change == 3


@needs_etcd
def test_a_request_that_was_long_on_its_way_changes_nothing(store: Store) -> None:
    """It would bind the entry to a lease that began long ago, or bring one back that is gone."""
    done, seen = store.renew(Entry(A), 0, MINUTE)
    first = seen.revisions[A.incarnation]
    assert done
    done, seen = store.renew(Entry(A, epoch=7), first, MINUTE)
    assert done
    for revision in (0, first):
        late, there = store.renew(Entry(A), revision, MINUTE)
        assert not late
        assert there == seen
        assert store.write(Entry(A), revision) == (False, seen)
    store.remove(A.incarnation)
    for write in (store.write(Entry(A), first), store.renew(Entry(A), first, MINUTE)):
        assert not write[0]
        assert write[1].entries == {}


@needs_etcd
def test_a_renewed_entry_outlives_the_lease_that_it_had(store: Store) -> None:
    """Whoever ends that one, be it a leader of etcd that is none any more. What is only written keeps its lease."""
    store.renew(Entry(A), 0, MINUTE)
    _, seen = store.renew(Entry(B), 0, MINUTE)
    leases = {each: lease_of(store, each) for each in (A, B)}
    assert store.renew(Entry(A), seen.revisions[A.incarnation], MINUTE)[0]
    assert store.write(Entry(B, epoch=3), seen.revisions[B.incarnation])[0]
    for lease in leases.values():
        store.client.call("/v3/lease/revoke", {"ID": lease})
    assert store.read().entries == {A.incarnation: Entry(A)}


@needs_etcd
def test_changes_are_told_and_renewals_are_no_news(etcds: Etcds, cluster: str, store: Store) -> None:
    told: list[str] = []
    _, seen = store.renew(Entry(A), 0, MINUTE)
    watch = Watch(Etcd(tuple(etcds.endpoints)), cluster, 600.0, lambda: seen.raw, lambda: told.append("news"))
    watch.start()
    try:
        until(lambda: told == ["news"], "it watches, and something may have been missed before")
        _, renewed = store.renew(Entry(A), seen.revisions[A.incarnation], MINUTE)
        store.write(Entry(A, epoch=3), renewed.revisions[A.incarnation])
        until(lambda: len(told) > 1, "it has been told")
        assert told == ["news"] * 2
        store.remove(A.incarnation)
        until(lambda: len(told) > 2, "it has been told of the end")
    finally:
        watch.close()


def lease_of(store: Store, node: Node) -> Any:
    key = b64encode(f"{store.prefix}members/{node.incarnation}".encode()).decode()
    (found,) = store.client.call("/v3/kv/range", {"key": key})["kvs"]
    return found["lease"]


@needs_etcd
def test_what_others_have_written_there(store: Store) -> None:
    key = b64encode(f"{store.prefix}view".encode()).decode()
    store.client.call("/v3/kv/put", {"key": key, "value": b64encode(b"[1]").decode()})
    with pytest.raises(Unreadable, match=f"^{store.prefix}view in etcd cannot be read: "):
        store.read()


@needs_etcd
def test_clusters_do_not_see_each_other(etcds: Etcds, cluster: str) -> None:
    one, other = Store(etcds.client(), cluster), Store(etcds.client(), cluster + "2")
    one.renew(Entry(A), 0, MINUTE)
    assert other.read().entries == {}


@needs_etcd
def test_an_endpoint_that_does_not_answer_is_passed_over(etcds: Etcds, cluster: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        silent = f"http://127.0.0.1:{mute.getsockname()[1]}"
        client = Client(Etcd((silent, etcds.endpoints[0])), 1.5)
        assert Store(client, cluster).read().raw == {}
        assert client.troubles == {silent: "no answer in time"}
        client.disconnect()


class Slow(BaseHTTPRequestHandler):
    """An etcd that is busy: it answers all, but late."""

    def do_POST(self) -> None:
        time.sleep(0.3)
        with suppress(OSError):  # nobody waits any more
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None: ...


def test_an_etcd_that_is_slow_is_heard_in_the_end() -> None:
    """And what is asked next, too: a renewal is two requests, and neither may be given up again and again."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        client = Client(Etcd((f"http://127.0.0.1:{server.server_port}",)), 0.05, 30.0)

        def answers() -> bool:
            try:
                return [client.call("/v3/lease/grant", {}), client.call("/v3/kv/txn", {})] == [{}, {}]
            except Unreachable:
                return False

        until(answers, "both are answered")
        client.disconnect()
        server.shutdown()
        thread.join()


def test_an_endpoint_is_not_waited_for_without_end() -> None:
    client = Client(Etcd(("http://127.0.0.1:1",)), 1.0, 4.0)
    for patience in (1.0, 2.0, 4.0, 4.0):
        assert client.patience == patience
        with pytest.raises(Unreachable):
            client.call("/v3/kv/txn", {})


def test_nobody_answers() -> None:
    def speak() -> None:
        connection, _ = rude.accept()
        with connection:
            heard = b""
            while not heard.endswith(b"{}"):  # what is left unread makes the end of a connection a reset
                heard += connection.recv(1000)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nwho are you?")

    with socket.create_server(("127.0.0.1", 0)) as rude:
        threading.Thread(target=speak, daemon=True).start()
        endpoints = (f"http://127.0.0.1:{rude.getsockname()[1]}", "http://127.0.0.1:1")
        client = Client(Etcd(endpoints), 30.0)
        with pytest.raises(Unreachable) as told:
            client.call("/v3/kv/txn", {})
        client.disconnect()
    assert str(told.value) == (
        f"{endpoints[0]}: it does not speak as etcd does; http://127.0.0.1:1: Connection refused"
    )


def test_whoever_waits_is_interrupted() -> None:
    ends: list[Exception] = []

    def wait() -> None:
        try:
            client.call("/v3/kv/txn", {})
        except Unreachable as error:
            ends.append(error)
        client.disconnect()

    with socket.create_server(("127.0.0.1", 0)) as mute:
        client = Client(Etcd((f"http://127.0.0.1:{mute.getsockname()[1]}",)), 600.0)
        thread = threading.Thread(target=wait)
        thread.start()
        connection, _ = mute.accept()
        with connection:
            until(lambda: connection.recv(1), "it has asked")
            assert client.descriptors()
            client.interrupt()
            thread.join()
    assert len(ends) == 1


def test_what_is_kept_can_be_read_by_people() -> None:
    found = json.loads(msgspec.json.encode(Entry(A)))
    assert found["node"][:3] == ["a", "1" * 32, "10.0.0.1:7400"]
    assert (found["epoch"], found["report"]) == (-1, None)
