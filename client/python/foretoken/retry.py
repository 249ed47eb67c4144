"""Which calls are tried again: those that got UNAVAILABLE and are safe to repeat, within their deadline."""

from __future__ import annotations

import random
import time
from typing import Callable, Optional, TypeVar

import grpc
from google.rpc import status_pb2

from foretoken.errors import Error

INITIAL_BACKOFF_SECONDS = 0.05
MAX_BACKOFF_SECONDS = 1.0
Reply = TypeVar("Reply")


def backoff(attempt: int, chance: float) -> float:
    """Seconds to wait after attempt 1, 2, ...: doubled each time, times a jitter of 0.5 to 1."""
    doubled = INITIAL_BACKOFF_SECONDS * 2 ** (attempt - 1)
    return min(doubled, MAX_BACKOFF_SECONDS) * (0.5 + 0.5 * chance)


def error_of(call: grpc.RpcError) -> Error:
    """A server that ends drops the calls that it has not read yet, and gRPC says CANCELLED. Such a call was never
    begun: another try may succeed."""
    if call.code() is not grpc.StatusCode.CANCELLED:
        return Error.of_call(call)
    return Error(status_pb2.Status(
        code=grpc.StatusCode.UNAVAILABLE.value[0],
        message="the server or a proxy dropped the call; this happens while a server ends"))


def with_retry(attempt: Callable[[Optional[float]], Reply], attempts: int, timeout: Optional[float]) -> Reply:
    """The reply of `attempt`, which takes the seconds that are left. Raises the last error; where a retry got no answer
    in time, the error before it, because that states the cause."""
    deadline = None if timeout is None else time.monotonic() + timeout
    before: Optional[Error] = None
    tries = 1
    while True:
        try:
            return attempt(None if deadline is None else max(0.0, deadline - time.monotonic()))
        except grpc.RpcError as failure:
            error = error_of(failure)
            if error.code is grpc.StatusCode.DEADLINE_EXCEEDED and before is not None:
                raise before from failure
            wait = backoff(tries, random.random())
            late = deadline is not None and time.monotonic() + wait >= deadline
            if error.code is not grpc.StatusCode.UNAVAILABLE or tries >= attempts or late:
                raise error from failure
            before = error
        tries += 1
        time.sleep(wait)
