"""HTTP/2 by hand, for what no library sends: frames that are cut, repeated or never ended.

Example:
    connection = Connection("127.0.0.1:50051")
    connection.request(1, "/foretoken.v1.EstimatorService/Estimate", message)
    connection.wait(seconds=1)
    print(connection.refusals)
"""

import collections
import socket
import struct
import threading
import time

import hpack

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
INITIAL_WINDOW_SIZE = 4
SOURCE = "127.0.0.2"  # another caller than the polite client
LARGEST_FRAME = 16384  # of a peer that said nothing else
LARGEST_WINDOW = 0x7FFFFFFF

ERRORS = ("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
          "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
          "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED")
CODES = ("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
         "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
         "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED")


def name_of(names, number):
    return names[number] if number < len(names) else str(number)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def integer(value, prefix_bits):
    """An HPACK integer; the bits before the prefix are 0."""
    most = (1 << prefix_bits) - 1
    if value < most:
        return bytes([value])
    value -= most
    encoded = bytearray([most])
    while value >= 128:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes(encoded + bytes([value]))


def literal(name, value):
    """A header that enters no table, in plain octets."""
    return b"\x00" + integer(len(name), 7) + name + integer(len(value), 7) + value


def request_headers(path, *more):
    """The header block of a gRPC call; `more` are pairs of bytes."""
    fields = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()), (b":authority", b"localhost"),
              (b"content-type", b"application/grpc"), (b"te", b"trailers"), *more]
    return b"".join(literal(name, value) for name, value in fields)


def grpc_message(payload, compressed=False):
    return bytes([compressed]) + struct.pack(">I", len(payload)) + payload


class Closed(Exception):
    """The peer ended the connection."""


class Connection:
    """One connection. With `reads`, a thread takes what comes and notes how streams and the connection end. The peer's
    flow control is obeyed; the peer itself is given no window, so that its DATA stops at the first 65,535 bytes."""

    def __init__(self, address, reads=True, timeout=10, settings=b""):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=timeout, source_address=(SOURCE, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.refusals = collections.Counter()  # how streams and the connection ended, by name
        self.ended = threading.Event()
        self._decoder = hpack.Decoder()
        self._sending = threading.Lock()
        self._window = threading.Condition()
        self._first_window = 65535
        self._over = set()  # streams that the peer ended
        self._windows = collections.defaultdict(int)  # of the connection (0) and of streams, beyond their first
        self.send(PREFACE + frame(SETTINGS, 0, 0, settings))
        self.quiet = False  # answers nothing by itself: where frames must follow one another
        self._settled = threading.Event()
        if reads:
            threading.Thread(target=self._read, daemon=True).start()
            self._settled.wait(timeout)

    def send(self, data):
        try:
            with self._sending:
                self.socket.sendall(data)
        except OSError as error:
            self._end("connection stalled" if isinstance(error, TimeoutError) else "connection closed")
            raise Closed from error

    def request(self, stream, path, payload, *headers, compressed=False):
        """A whole call, its message in as many frames as it takes."""
        self.send(frame(HEADERS, END_HEADERS, stream, request_headers(path, *headers)))
        message = grpc_message(payload, compressed)
        for start in range(0, len(message), LARGEST_FRAME):
            part = message[start:start + LARGEST_FRAME]
            self.send_data(stream, part, END_STREAM if start + len(part) == len(message) else 0)

    def send_data(self, stream, part, flags=0, seconds=10):
        """One DATA frame, once the peer's windows have room for it; none on a stream that the peer ended."""
        with self._window:
            room = self._window.wait_for(lambda: self._may_go_on(stream, len(part)), seconds)
            if not room or self.ended.is_set():
                raise Closed
            if stream in self._over:
                return
            self._windows[0] -= len(part)
            self._windows[stream] -= len(part)
        self.send(frame(DATA, flags, stream, part))

    def _may_go_on(self, stream, count):
        if self.ended.is_set() or stream in self._over:
            return True
        return self._windows[0] + 65535 >= count and self._windows[stream] + self._first_window >= count

    def _end_stream(self, stream):
        with self._window:
            self._over.add(stream)
            self._window.notify_all()

    def wait(self, seconds, streams=None):
        """Until the connection or `streams` calls ended, `seconds` at most."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.ended.is_set():
            if streams is not None and sum(self.refusals.values()) >= streams:
                return
            time.sleep(0.01)

    def close(self):
        self.ended.set()  # what comes now is no refusal
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes the reader, who holds the connection otherwise
        except OSError:
            pass
        self.socket.close()

    def _end(self, why):
        if not self.ended.is_set():
            self.refusals[why] += 1
            self.ended.set()
            self._settled.set()
        with self._window:
            self._window.notify_all()

    def _read(self):
        try:
            while not self.ended.is_set():
                head = self._exactly(9)
                payload = self._exactly(int.from_bytes(head[:3], "big"))
                self._handle(head[3], head[4], int.from_bytes(head[5:9], "big"), payload)
        except (OSError, EOFError, ValueError, hpack.HPACKError):
            self._end("connection closed")

    def _exactly(self, count):
        data = bytearray()
        while len(data) < count:
            try:
                more = self.socket.recv(count - len(data))
            except TimeoutError:
                continue
            if not more:
                raise EOFError
            data += more
        return bytes(data)

    def _handle(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            self._read_settings(payload)
            if not self.quiet:
                self.send(frame(SETTINGS, ACK, 0))
            self._settled.set()
        elif kind == WINDOW_UPDATE:
            with self._window:
                self._windows[stream] += int.from_bytes(payload, "big")
                self._window.notify_all()
        elif kind == RST_STREAM:
            self._end_stream(stream)
            self.refusals["RST_STREAM " + name_of(ERRORS, int.from_bytes(payload, "big"))] += 1
        elif kind == GOAWAY:
            self._end("GOAWAY " + name_of(ERRORS, int.from_bytes(payload[4:8], "big")))
        elif kind == HEADERS:
            if flags & END_STREAM:
                self._end_stream(stream)
            self._handle_headers(dict(self._decoder.decode(payload)))

    def _read_settings(self, payload):
        for start in range(0, len(payload), 6):
            identifier, value = struct.unpack(">HI", payload[start:start + 6])
            if identifier == INITIAL_WINDOW_SIZE:
                with self._window:
                    self._first_window = value
                    self._window.notify_all()

    def _handle_headers(self, fields):
        if "grpc-status" in fields:
            self.refusals[name_of(CODES, int(fields["grpc-status"]))] += 1
        elif fields.get(":status", "200") != "200":
            self.refusals["HTTP " + fields[":status"]] += 1
