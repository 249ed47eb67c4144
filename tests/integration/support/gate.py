"""A network that can be cut between two processes."""

import socket
import threading


class Gate:
    """A TCP relay before one address that can be shut: nothing passes, and nobody is told, as when a cable is pulled.

    hold_replies_after(marker, gates) lets everything pass until a request holds the marker; that one passes too, and from
    then on no reply does, through any of the gates.
    """

    def __init__(self, target):
        self.target = target
        self.marker, self.held = None, []
        self.replies = threading.Event()
        self.replies.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.open = threading.Event()
        self.open.set()
        self.ended = False
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.ended:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            host, port = self.target.rsplit(":", 1)
            try:
                there = socket.create_connection((host, int(port)), timeout=5)
            except OSError:
                here.close()
                continue
            self.sockets += [here, there]
            for source, sink, reply in ((here, there, False), (there, here, True)):
                threading.Thread(target=self._relay, args=(source, sink, reply), daemon=True).start()

    def _relay(self, source, sink, reply):
        try:
            while data := source.recv(65536):
                self.open.wait()
                if reply:
                    self.replies.wait()
                elif self.marker is not None and self.marker in data:
                    for gate in self.held:
                        gate.replies.clear()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def shut(self):
        self.open.clear()

    def hold_replies_after(self, marker, gates):
        self.held, self.marker = gates, marker

    def reopen(self):
        self.marker = None
        self.replies.set()
        self.open.set()

    def close(self):
        self.ended = True
        self.reopen()
        for end in [self.listener, *self.sockets]:
            end.close()
