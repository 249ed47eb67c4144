"""Requests to an OpenAI server, whose tokens are timed as they come.

    sent = Request(prompt_tokens=256, output_tokens=64)
    await sent.run(port, "dense")
    sent.ttft, sent.e2e, sent.tpot

Asyncio streams and no HTTP library, so that 24 streams at once are timed within a millisecond or two (driver_test.py).
"""

import asyncio
import json
import random
import time

SMALLEST_TOKEN, LARGEST_TOKEN = 256, 4999
EVENT = b"data: {"
LONGEST_REQUEST_SECONDS = 120


def random_prompt(generator, tokens):
    return [generator.randint(SMALLEST_TOKEN, LARGEST_TOKEN) for _ in range(tokens)]


class Request:
    """One request, then what was seen of it. Times are of time.perf_counter(), None until they are known."""

    def __init__(self, prompt_tokens, output_tokens, prompt=None, counted=False):
        """`prompt`: token ids, else random ones. `counted`: the server tells the tokens of each event; a server that is
        behind puts several into one."""
        self.prompt_tokens, self.output_tokens, self.counted = prompt_tokens, output_tokens, counted
        self.prompt = prompt or random_prompt(random, prompt_tokens)
        self.sent = self.first = self.last = None
        self.received = 0
        self.gaps = []
        self.status = "waiting"
        self.used = {}

    def body(self, model):
        return json.dumps({
            "model": model, "prompt": self.prompt, "max_tokens": self.output_tokens, "min_tokens": self.output_tokens,
            "ignore_eos": True, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": self.counted}}).encode()

    async def run(self, port, model):
        body = self.body(model)
        head = (f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            self.sent = time.perf_counter()
            writer.write(head + body)
            await asyncio.wait_for(self._read(reader), LONGEST_REQUEST_SECONDS)
        except (asyncio.TimeoutError, OSError) as error:
            self.status = type(error).__name__
        finally:
            writer.close()

    async def _read(self, reader):
        status = (await reader.readline()).split()[1]
        while line := await reader.readline():
            if line.startswith(EVENT):
                self._event(time.perf_counter(), line)
        self.status = "ok" if status == b"200" and self.received == self.output_tokens else f"http {int(status)}"

    def _event(self, now, line):
        has_token = b'"choices":[{' in line
        if self.counted or not has_token:
            self.used = json.loads(line[len(EVENT) - 1:]).get("usage") or self.used
        if has_token:
            self.received = self.used["completion_tokens"] if self.counted else self.received + 1
            if self.first is None:
                self.first = now
            else:
                self.gaps.append(now - self.last)
            self.last = now
        elif self.used:
            self.received = self.used["completion_tokens"]

    @property
    def ttft(self):
        return None if self.first is None else self.first - self.sent

    @property
    def e2e(self):
        return self.last - self.sent if self.status == "ok" else None

    @property
    def tpot(self):
        if self.status != "ok" or self.output_tokens < 2:
            return None
        return (self.last - self.first) / (self.output_tokens - 1)
