"""Connections that send nothing, too slowly or too much, next to those that send requests."""

from __future__ import annotations

import re
import socket
import threading
import time

import pytest

from lasec.service import Service, listen
from lasec.service.listen import Bounded, Server

LARGE = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    service = Service(str(tmp_path_factory.mktemp("listen") / "store.db"))
    service.open()
    server = Server(service, port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not (server.started and service.ready):
        assert thread.is_alive()
        time.sleep(0.01)
    yield server
    server.should_exit = True
    thread.join()
    service.stop()


@pytest.fixture
def address(server):
    return server.servers[0].sockets[0].getsockname()


@pytest.fixture
def connect(address):
    made = []

    def new(sent):
        made.append(socket.create_connection(address, timeout=10.0))
        made[-1].sendall(sent)
        return made[-1]

    yield new
    for each in made:
        each.close()
    wait_for(lambda: not Bounded._waiting)  # a connection that has ended waits for nothing


def wait_for(happens):
    until = time.monotonic() + 10.0
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.01)


def reply(connection):
    """The first line of a whole reply; empty if the server has ended the connection."""
    data = b""
    try:
        while not is_whole(data) and (more := connection.recv(4_096)):
            data += more
    except ConnectionResetError:
        return b""
    return data.partition(b"\r\n")[0]


def is_whole(data):
    """Whether a reply has come with its body, which may be a packet of its own."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return bool(end) and len(body) >= int(length[1] if length else 0)


def test_the_oldest_connection_without_a_request_makes_room(connect, monkeypatch):
    monkeypatch.setattr(Bounded, "most", 3)
    served = connect(HALF + b"\r\n")
    assert reply(served) == b"HTTP/1.1 200 OK"
    waiting = []
    for count in (1, 2):
        waiting.append(connect(HALF))
        wait_for(lambda count=count: len(Bounded._waiting) == count)
    late = connect(HALF + b"\r\n")
    assert reply(late) == b"HTTP/1.1 200 OK"
    assert reply(waiting[0]) == b""
    for each in (waiting[1], served):  # one may go on, one may send its next request
        each.sendall(b"\r\n" if each is waiting[1] else HALF + b"\r\n")
        assert reply(each) == b"HTTP/1.1 200 OK"


def test_headers_and_bodies_must_come_in_time(connect, monkeypatch):
    monkeypatch.setattr(listen, "HEAD", 0.3)
    monkeypatch.setattr(listen, "BODY", 0.6)
    began = time.monotonic()
    head = connect(HALF)
    body = connect(b"POST /v1/models HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
    idle = connect(b"")
    assert (reply(head), reply(idle)) == (b"", b"")
    assert 0.25 < time.monotonic() - began < 5.0
    assert reply(body) in (b"", b"HTTP/1.1 401 Unauthorized")
    while reply(body):
        pass
    assert time.monotonic() - began > 0.55


def test_a_reply_may_take_longer_than_a_request(connect, monkeypatch):
    """A connection that has sent a whole request is not ended while it waits for the next one."""
    monkeypatch.setattr(listen, "HEAD", 0.2)
    monkeypatch.setattr(listen, "BODY", 0.2)
    served = connect(HALF + b"\r\n")
    assert reply(served) == b"HTTP/1.1 200 OK"
    time.sleep(0.5)
    served.sendall(HALF + b"\r\n")
    assert reply(served) == b"HTTP/1.1 200 OK"


def test_replies_that_nobody_reads_keep_no_connection(server, address, monkeypatch):
    monkeypatch.setattr(listen, "REPLY", 0.5, raising=False)
    served = server.server_state.connections
    wait_for(lambda: not served)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(address)
        deaf.sendall(LARGE * 500)
        wait_for(lambda: len(served) == 1)
        wait_for(lambda: not served)


def test_a_reply_that_is_read_slowly_is_read_to_its_end(address, monkeypatch):
    monkeypatch.setattr(listen, "REPLY", 0.3, raising=False)
    monkeypatch.setattr(listen, "LEAST", 2**12, raising=False)
    with socket.socket() as slow:
        slow.settimeout(10.0)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        slow.connect(address)
        slow.sendall(LARGE * 100)
        began, size = time.monotonic(), 0
        while time.monotonic() < began + 1.5:
            size += len(slow.recv(2**15))
            time.sleep(0.005)
        for _ in range(100):  # the connection goes on
            size += len(slow.recv(2**15))
    assert size > 2**20


@pytest.mark.parametrize(("size", "answer"), [(60_000, 200), (70_000, 400)])
def test_headers_have_a_largest_size(connect, size, answer):
    sent = connect(HALF + b"X-Long: " + b"x" * (size // 2))
    time.sleep(0.05)  # in two pieces
    sent.sendall(b"x" * (size // 2))
    if answer == 200:
        sent.sendall(b"\r\n\r\n")
    assert reply(sent).split()[1] == str(answer).encode()


def test_connections_take_half_of_the_descriptors_at_most(monkeypatch):
    for descriptors, connections in ((256, 128), (2_001, 1_000), (10_000, 1_000)):
        monkeypatch.setattr("resource.getrlimit", lambda kind, n=descriptors: (n, 10_000))
        assert listen._connections() == connections
