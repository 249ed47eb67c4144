"""How late the driver sees a token: against a server of its own, in a process of its own, that writes the time of
sending into every event. 24 streams of 50 tokens/s each, as many as the loops have and faster than the engine is.

    taskset -c 1 python3 driver_test.py
"""

import asyncio
import multiprocessing
import statistics
import time
import unittest

import requests_client
from engine import free_port
from requests_client import Request

STREAMS, TOKENS, GAP_SECONDS = 24, 60, 0.02
MOST_P50_SECONDS, MOST_P99_SECONDS = 0.001, 0.005  # a decode step of the engine takes 15 ms and more


async def answer(reader, writer):
    length = 0
    while (line := await reader.readline()).strip():
        if line.lower().startswith(b"content-length"):
            length = int(line.split(b":")[1])
    await reader.readexactly(length)
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    start = time.perf_counter()
    for index in range(TOKENS):
        await asyncio.sleep(start + index * GAP_SECONDS - time.perf_counter())
        writer.write(b'data: {"at": %.6f, "choices":[{"text": "w"}]}\n\n' % time.perf_counter())
        await writer.drain()
    writer.write(b'data: {"choices":[],"usage":{"completion_tokens":%d}}\n\ndata: [DONE]\n\n' % TOKENS)
    writer.close()


async def serve(port):
    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        await server.serve_forever()


class Timed(Request):
    def __init__(self):
        super().__init__(128, TOKENS)
        self.late = []

    def _event(self, now, line):
        if b'"at"' in line:
            self.late.append(now - float(line.split(b'"at": ')[1].split(b",")[0]))
        super()._event(now, line)


class Driver(unittest.TestCase):
    def setUp(self):
        self.port = free_port()
        self.server = multiprocessing.Process(target=lambda: asyncio.run(serve(self.port)))
        self.server.start()
        time.sleep(0.5)

    def tearDown(self):
        self.server.kill()
        self.server.join()

    def test_tokens_are_seen_when_they_come(self):
        requests = [Timed() for _ in range(STREAMS)]

        async def run():
            await asyncio.gather(*(request.run(self.port, "any") for request in requests))

        asyncio.run(run())
        self.assertEqual({request.status for request in requests}, {"ok"})
        self.assertEqual({len(request.gaps) for request in requests}, {TOKENS - 1})
        late = sorted(seconds for request in requests for seconds in request.late)
        p50, p99 = statistics.median(late), late[int(0.99 * len(late))]
        print(f"late by {1e3 * p50:.2f} ms in the median, {1e3 * p99:.2f} ms at p99")
        self.assertLess(p50, MOST_P50_SECONDS)
        self.assertLess(p99, MOST_P99_SECONDS)

    def test_a_request_that_ends_early_is_no_result(self):
        request = Timed()
        request.output_tokens = TOKENS + 1
        asyncio.run(request.run(self.port, "any"))
        self.assertEqual((request.status, request.e2e, request.tpot), ("http 200", None, None))


class Prompts(unittest.TestCase):
    def test_tokens_are_of_the_range(self):
        prompt = requests_client.random_prompt(requests_client.random, 500)
        self.assertTrue(requests_client.SMALLEST_TOKEN <= min(prompt) <= max(prompt) <= requests_client.LARGEST_TOKEN)


if __name__ == "__main__":
    unittest.main()
