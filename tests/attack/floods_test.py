"""The dearest floods for a second each: the server stays below its memory limit, and a polite client beside it and a new one
after it are served. tests/attack/run repeats all of them at length and prints what they cost."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
import attack  # noqa: E402
import floods  # noqa: E402
import grpc  # noqa: E402
from proxy import Proxy  # noqa: E402
from support.foretoken_api import Refused  # noqa: E402
from support.scenarios import scenario  # noqa: E402
from support.server_process import API, ServerProcess  # noqa: E402

SECONDS = 1
DEAREST = ("continuation", "continuation_value", "gzip", "long_messages", "messages_without_end", "unread_pages",
           "many_unread_pages", "sweeps", "open_streams", "rapid_reset", "connections")
FRAMES = ("continuation", "continuation_value", "gzip", "settings", "unknown")  # that end at a proxy
LIMIT = 256 << 20
CEILING = 1 << 30  # where a flood is stopped, so that this machine survives a server without limits
LEAST_ANSWERED = 0.5  # of the polite client's calls, while memory is short

ESTIMATE = "/foretoken.v1.EstimatorService/Estimate"


def flood_named(name):
    return next(flood for flood in floods.FLOODS if flood.name == name)


class Floods(unittest.TestCase):
    def test_none_passes_the_memory_limit_or_stops_the_service(self):
        for flood in map(flood_named, DEAREST):
            with self.subTest(flood.name):
                outcome = attack.carry_out(flood, SECONDS, full=False, ceiling=CEILING,
                                           flags=[f"--memory_limit={LIMIT}"], rest_seconds=0.2)
                self.assertIsNone(outcome.ended)
                self.assertLess(outcome.peak_bytes, LIMIT)
                self.assertTrue(outcome.serves_afterwards)
                answered, failed = outcome.polite["answered"], sum(outcome.polite["refused"].values())
                self.assertGreater(answered, LEAST_ANSWERED * (answered + failed))


class Proxied(unittest.TestCase):
    """Floods of frames end at HAProxy with deploy/haproxy/guard.cfg: the server's memory does not move."""

    MOST_GROWTH = 16 << 20

    def test_floods_of_frames_do_not_reach_the_server(self):
        for flood in map(flood_named, FRAMES):
            with self.subTest(flood.name), ServerProcess(store="memory:") as server, Proxy(server.address) as proxy:
                before = server.peak_memory_bytes()
                through = attack.Attack(server, proxy.address, SECONDS, full=False)
                flood.run(through)
                through.close()
                self.assertGreater(through.sent, 0)
                self.assertLess(server.peak_memory_bytes() - before, self.MOST_GROWTH)
                client = API.connect(proxy.address)
                client.call("EstimatorService/Estimate", scenario=scenario())
                client.close()


class Compression(unittest.TestCase):
    def test_a_compressed_message_is_refused(self):
        with ServerProcess(store="memory:") as server:
            request = API.build(API.method("EstimatorService/Estimate").input_type, {"scenario": scenario()})
            call = server.client.channel.unary_unary(ESTIMATE)
            for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
                with self.assertRaises(grpc.RpcError) as raised:
                    call(request.SerializeToString(), timeout=10, compression=compression)
                self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
            call(request.SerializeToString(), timeout=10)


class Pages(unittest.TestCase):
    def test_a_page_is_read_by_a_default_client_and_followed_to_the_end(self):
        """40 entries of 240 kB are 9.6 MB; a client takes 4 MB by default."""
        with ServerProcess(store="memory:") as server:
            through = attack.Attack(server, server.address, SECONDS, full=False)
            through.fill_catalog(40, sizes=(240_000,))
            method = API.method("CatalogService/ListHardware")
            reply_class = API.message_class(method.output_type.full_name)
            channel = grpc.insecure_channel(server.address)
            call = channel.unary_unary("/foretoken.v1.CatalogService/ListHardware")
            ids, token = [], ""
            while True:
                request = API.build(method.input_type, {"page_size": 1000, "page_token": token, "id_contains": "large"})
                reply = reply_class.FromString(call(request.SerializeToString(), timeout=10))
                self.assertEqual(reply.total_size, 40)
                ids += [entry.spec.id for entry in reply.entries]
                token = reply.next_page_token
                if not token:
                    break
            channel.close()
            self.assertEqual(ids, sorted(f"large-{index}" for index in range(40)))


class Held(unittest.TestCase):
    def test_sweeps_of_a_caller_have_a_limit_and_make_room_when_they_end(self):
        """One caller has an eighth of the memory limit, a sweep counts as one MiB: 32 of 256.

        The sweeps have a million points, so that none of them ends while nobody reads it, because 100,000 points can
        fit into the buffers of the transport. No call is refused for its wait, however slow the machine is."""
        axes = [{"field": "workload.prompt_tokens", "linear": {"start": 1.0, "stop": 10000.0, "count": 10000}},
                {"field": "workload.output_tokens", "linear": {"start": 1.0, "stop": 100.0, "count": 100}}]
        with ServerProcess(store="memory:", flags=[f"--memory_limit={LIMIT}", "--max_queue_wait=1h"]) as server:
            def sweep():
                return server.client.stream("EstimatorService/Sweep", timeout=3600, base=scenario(), axes=axes)

            sweeps = [sweep() for _ in range(32)]
            with self.assertRaises(Refused) as refused:
                for _ in range(100):  # the first 32 may not have arrived yet
                    next(sweep()[1])
            self.assertEqual(refused.exception.code, grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertIn("allowed 33554432", refused.exception.message)
            for call, _ in sweeps:
                call.cancel()
            self.assertTrue(self.served_within(10, sweep))

    @staticmethod
    def served_within(seconds, sweep):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                return bool(next(sweep()[1]))
            except Refused:
                time.sleep(0.01)
        return False


if __name__ == "__main__":
    unittest.main()
