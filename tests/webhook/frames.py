"""HTTP/2 by hand, to say what no client library would."""

import ssl
import struct
import time
from typing import NamedTuple

from webhook.server import raw_connection

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS = 1, 4
CANCEL = struct.pack(">I", 8)


class Frame(NamedTuple):
    """One that was received."""

    sort: int
    flags: int
    stream: int
    payload: bytes


def frame(sort: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """As it is sent."""
    return struct.pack(">I", len(payload))[1:] + bytes((sort, flags)) + struct.pack(">I", stream) + payload


def field(name: str, value: str) -> bytes:
    """A header, neither compressed nor indexed. Both shorter than 127 characters."""
    return b"\0" + bytes((len(name),)) + name.encode() + bytes((len(value),)) + value.encode()


def headers(length: int | None) -> bytes:
    """Of a review whose body is announced to be so long."""
    fields = {":method": "POST", ":scheme": "https", ":authority": "localhost", ":path": "/validate", "content-type": "application/json"}
    if length is not None:
        fields["content-length"] = str(length)
    return b"".join(field(*each) for each in fields.items())


def connect(port: int) -> ssl.SSLSocket:
    """A connection that has said hello."""
    connection = raw_connection(port, "h2")
    assert connection.selected_alpn_protocol() == "h2"
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))
    return connection


def received(connection: ssl.SSLSocket, seconds: float = 3) -> list[Frame]:
    """What comes until the end of a stream's data, of the connection, or of the time."""
    end, rest, found = time.monotonic() + seconds, b"", []
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            data = connection.recv(1 << 16)
        except OSError:
            break
        if not data:
            break
        rest += data
        while len(rest) >= 9 and len(rest) >= 9 + (size := int.from_bytes(rest[:3])):
            found.append(Frame(rest[3], rest[4], int.from_bytes(rest[5:9]), rest[9 : 9 + size]))
            rest = rest[9 + size :]
        if any(each.sort == DATA and each.flags & END_STREAM for each in found):
            break
    return found
