#!/usr/bin/python3 -B
"""A client that does nothing wrong: one Estimate every ten milliseconds until its standard input ends. Then it prints
what became of them, as JSON. A process of its own, so that the load beside it does not slow the clock it reads.

Usage: polite.py ADDRESS
"""

import collections
import json
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))
# pylint: disable=wrong-import-position
import grpc  # noqa: E402

from support.scenarios import scenario  # noqa: E402
from support.server_process import API  # noqa: E402

PAUSE_SECONDS = 0.01
DEADLINE_SECONDS = 2
PATH = "EstimatorService/Estimate"


def share(values, part):
    """The value below which `part` of them lie."""
    return sorted(values)[min(int(part * len(values)), len(values) - 1)] if values else 0.0


def ask(address, stop):
    """Seconds of each answered call, and how many ended with each other code."""
    client = API.connect(address)
    method = API.method(PATH)
    request = API.build(method.input_type, {"scenario": scenario()}).SerializeToString()
    call = client.channel.unary_unary("/foretoken.v1." + PATH)
    seconds, refused = [], collections.Counter()
    print("ready", flush=True)
    while not stop.is_set():
        begin = time.monotonic()
        try:
            call(request, timeout=DEADLINE_SECONDS)
            seconds.append(time.monotonic() - begin)
        except grpc.RpcError as error:
            refused[error.code().name] += 1
        time.sleep(PAUSE_SECONDS)
    return seconds, refused


def main():
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    seconds, refused = ask(sys.argv[1], stop)
    print(json.dumps({"answered": len(seconds), "refused": dict(refused), "p50_seconds": share(seconds, 0.5),
                      "p99_seconds": share(seconds, 0.99), "longest_seconds": max(seconds, default=0.0)}))


if __name__ == "__main__":
    main()
