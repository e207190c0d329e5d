"""Requests that the service sends: to which hosts, to which addresses, how long and how much.

A name is resolved once, and the connection goes to the address that was looked at, so that a name
which leads elsewhere a moment later leads nowhere. No redirect is followed, and no proxy used.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from socket import SOCK_STREAM
from typing import NamedTuple
from urllib.parse import urlsplit

import httptools

import lasec

LARGEST = 64 * 2**10  # bytes of a reply, with its headers
PAUSES = (1.0, 5.0)  # seconds before each further try
PORTS = {"https": 443, "http": 80}
_NAT64 = IPv6Network("64:ff9b::/96")
_GIVEN_OUT = IPv6Network("2000::/3")  # of IPv6, all that is for the internet by now
_DOCUMENTATION = IPv6Network("3fff::/20")
_STRANGE = re.compile(r"[^\x21-\x7e]")


class UnansweredError(Exception):
    """No answer that can be used: ``kind`` is what is counted, ``again`` if one may still come.

    >>> UnansweredError("status", "500", again=True).kind
    'status'
    """

    def __init__(self, kind: str, detail: str = "", *, again: bool = False) -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind, self.again = kind, again


class Address(NamedTuple):
    """The parts of an address."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def place(self) -> str:
        """The host, with the port where it is not the usual one."""
        return self._name if self.port == PORTS[self.scheme] else f"{self._name}:{self.port}"

    @property
    def places(self) -> set[str]:
        """How a list may name it: the usual port may be given, too.

        >>> sorted(_address("https://judge.example/label").places)
        ['judge.example', 'judge.example:443']
        """
        return {self.place, f"{self._name}:{self.port}"}

    @property
    def _name(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class Outgoing(NamedTuple):
    """Where the service may send requests: by default nowhere.

    ``hosts`` are those that owners can name, with a port where it is not the usual one; they have
    no case. ``private`` allows addresses of this machine and of private networks, and there also
    ``http``.

    >>> Outgoing(frozenset(["judge.example"])).address("https://judge.example/label?v=2").path
    '/label?v=2'
    >>> Outgoing().address("https://judge.example/label")
    Traceback (most recent call last):
    lasec.service.outgoing.UnansweredError: refused: 'judge.example' is not among the hosts ...
    """

    hosts: frozenset[str] = frozenset()
    private: bool = False
    pauses: tuple[float, ...] = PAUSES

    def address(self, url: str) -> Address:
        """The parts of an address, where requests may go there."""
        try:
            found = _address(url)
        except ValueError as error:
            raise UnansweredError("refused", f"{error}") from None
        if found.places.isdisjoint(_lower(self.hosts)):
            raise UnansweredError(
                "refused", f"{found.place!r} is not among the hosts that this server may post to"
            )
        if found.scheme == "http" and not self.private:
            raise UnansweredError("refused", "an address begins with https://")
        return found

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], within: float) -> bytes:
        """What an address replies to JSON, with a status of success, within so many seconds."""
        to = self.address(url)
        try:
            end = asyncio.get_running_loop().time() + within
            async with asyncio.timeout_at(end):
                return await self._exchanged(to, _request(to, body, headers), end)
        except TimeoutError:
            raise UnansweredError("timeout", again=True) from None
        except ssl.SSLCertVerificationError as error:
            raise UnansweredError("certificate", error.verify_message) from None
        except OSError as error:
            raise UnansweredError("connection", f"{error}", again=True) from None

    async def _exchanged(self, to: Address, request: bytes, end: float) -> bytes:
        reader, writer = await self._connected(to, end)
        try:
            writer.write(request)
            await writer.drain()
            return await _Reply().read(reader)
        finally:
            writer.transport.abort()

    async def _connected(
        self, to: Address, end: float
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the first address of a host that takes it, of those that are allowed."""
        found = await asyncio.get_running_loop().getaddrinfo(to.host, to.port, type=SOCK_STREAM)
        numbers = list(dict.fromkeys(str(place[4][0]) for place in found))
        allowed = [number for number in numbers if self._allows(to.scheme, number)]
        if not allowed:
            raise UnansweredError("refused", f"{to.host!r} leads to {numbers}, not allowed here")
        secured = (await asyncio.to_thread(_tls), to.host) if to.scheme == "https" else (None, None)
        for left in range(len(allowed), 0, -1):
            try:
                async with asyncio.timeout_at(_share(end, left)):
                    return await asyncio.open_connection(
                        allowed[-left], to.port, ssl=secured[0], server_hostname=secured[1]
                    )
            except OSError as error:  # also that its share of the time is over
                if left == 1 or isinstance(error, ssl.SSLCertVerificationError):
                    raise
        raise AssertionError("there is a last address")

    def _allows(self, scheme: str, number: str) -> bool:
        """Whether a connection may go to an address: in plain text to private ones alone."""
        is_public = _is_public(number)
        return self.private if not is_public else scheme == "https"


def _share(end: float, left: int) -> float:
    """When the first of so many addresses that are left has had its share of the time."""
    now = asyncio.get_running_loop().time()
    return now + (end - now) / left


@cache
def _lower(hosts: frozenset[str]) -> frozenset[str]:
    """The names of hosts have no case."""
    return frozenset(map(str.lower, hosts))


def _address(url: str) -> Address:
    """The parts of an address that can be understood in one way only.

    >>> _address("http://127.0.0.1:8080")
    Address(scheme='http', host='127.0.0.1', port=8080, path='/')
    >>> _address("https://me:secret@judge.example/")
    Traceback (most recent call last):
    ValueError: an address is https://host:port/path, without a user or a fragment
    """
    parts = urlsplit(url)
    plain = not (_STRANGE.search(url) or "@" in parts.netloc or "#" in url or "\\" in url)
    if not plain or parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("an address is https://host:port/path, without a user or a fragment")
    port = PORTS[parts.scheme] if parts.port is None else parts.port
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme, parts.hostname, port, path)


def _is_public(number: str) -> bool:
    """Whether an address is one of the internet, also where it holds another one.

    >>> [_is_public(n) for n in ("8.8.8.8", "10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe")]
    [True, False, False, False]
    >>> [_is_public(n) for n in ("2606:4700::1111", "::127.0.0.1", "fec0::1", "3fff::1")]
    [True, False, False, False]
    """
    found: IPv4Address | IPv6Address = ip_address(number.partition("%")[0])
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            inner = IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is None and (found not in _GIVEN_OUT or found in _DOCUMENTATION):
            return False
        found = inner or found
    return found.is_global and not found.is_multicast


@cache
def _tls() -> ssl.SSLContext:
    """Certificates are verified: those of the system, or of ``SSL_CERT_FILE``."""
    return ssl.create_default_context()


def _request(to: Address, body: bytes, headers: Mapping[str, str]) -> bytes:
    """A request as it is sent; its connection is used once."""
    given = {
        "Host": to.place, "User-Agent": f"lasec/{lasec.__version__}",
        "Content-Type": "application/json", "Content-Length": str(len(body)),
        "Accept": "application/json", "Accept-Encoding": "identity", "Connection": "close",
        **headers,
    }  # fmt: skip
    lines = [f"POST {to.path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class _Reply:
    """A reply as it comes, no larger than it may be; what comes after it is not heard."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._status, self._body, self._done, self._sized = 0, bytearray(), False, False

    async def read(self, reader: asyncio.StreamReader) -> bytes:
        """The whole body of a reply of success."""
        size = 0
        while not self._done and (data := await reader.read(LARGEST)):
            size += len(data)
            if size > LARGEST:
                raise UnansweredError("size", f"more than {LARGEST:,} bytes")
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                if not self._done:
                    raise UnansweredError("protocol", f"{error!r}") from None
        if not self._done and (self._sized or not self._status):
            raise UnansweredError("connection", "it ended before the reply", again=True)
        if 300 <= self._status < 400:
            raise UnansweredError("redirect", f"{self._status}")
        if self._status >= 400:
            again = self._status >= 500 or self._status == 429
            raise UnansweredError("status", f"{self._status}", again=again)
        return bytes(self._body)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header says whether the body has an end of its own."""
        self._sized |= name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        """The status is known; one below 200 comes before the reply."""
        found = self._parser.get_status_code()
        if not self._done and found >= 200:
            self._status = found

    def on_body(self, data: bytes) -> None:
        """Some of the body."""
        if not self._done:
            self._body += data

    def on_message_complete(self) -> None:
        """That was all of it."""
        self._done |= self._status > 0
