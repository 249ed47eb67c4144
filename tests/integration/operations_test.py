"""What an operator relies on: metrics, health, drain and log."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import grpc

from support.foretoken_api import Refused
from support.scenarios import hardware, scenario
from support.server_process import API, SERVER, ServerProcess

DRAIN_SECONDS = 2


def value_of(metrics, series):
    """The number of a series, None where it is not there."""
    found = re.search("^" + re.escape(series) + r" (\S+)$", metrics, re.MULTILINE)
    return float(found.group(1)) if found else None


class Metrics(unittest.TestCase):
    def test_promtool_finds_nothing_to_complain_of(self):
        with ServerProcess() as server:
            self.use(server)
            check = subprocess.run([shutil.which("promtool"), "check", "metrics"], input=server.metrics(), text=True,
                                   capture_output=True, check=False)
            self.assertEqual((check.returncode, check.stdout + check.stderr), (0, ""))

    def use(self, server):
        server.client.call("EstimatorService/Estimate", scenario=scenario(slo={"max_ttft_seconds": 10.0}))
        server.client.call("EstimatorService/BatchEstimate", base=scenario(), candidates=[{}] * 7)
        axes = [{"field": "workload.batch_size", "linear": {"start": 1.0, "stop": 500.0, "count": 500}}]
        list(server.client.stream("EstimatorService/Sweep", base=scenario(), axes=axes)[1])
        with self.assertRaises(Refused):
            server.client.call("EstimatorService/Estimate")

    def test_calls_are_counted(self):
        with ServerProcess() as server:
            self.use(server)
            metrics = server.metrics()
            self.assertEqual(self.sum_of(metrics, "grpc_server_started_total", "Estimate"), 2)
            self.assertEqual(self.sum_of(metrics, "grpc_server_handled_total", "Estimate", 'grpc_code="OK"'), 1)
            self.assertEqual(
                self.sum_of(metrics, "grpc_server_handled_total", "Estimate", 'grpc_code="InvalidArgument"'), 1)
            self.assertEqual(self.sum_of(metrics, "grpc_server_handling_seconds_count", "Estimate"), 2)
            self.assertIn('le="5e-05"', metrics)
            self.assertEqual(value_of(metrics, "foretoken_sweep_points_total"), 500)
            self.assertEqual(value_of(metrics, "foretoken_batch_candidates_sum"), 7)
            self.assertRegex(metrics, r'foretoken_slo_verdicts_total\{verdict="feasible"\} 1')

    @staticmethod
    def sum_of(metrics, name, method, *labels):
        lines = [line for line in metrics.splitlines() if line.startswith(name + "{")
                 and f'grpc_method="{method}"' in line and all(label in line for label in labels)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


class ProcessMetrics(unittest.TestCase):
    def test_they_are_those_of_the_process(self):
        with ServerProcess() as server:
            metrics = server.metrics()
            pid = server.process.pid
            self.assertAlmostEqual(value_of(metrics, "process_start_time_seconds"), time.time(), delta=60)
            self.assertAlmostEqual(value_of(metrics, "process_open_fds"), len(os.listdir(f"/proc/{pid}/fd")), delta=4)
            with open(f"/proc/{pid}/status", encoding="utf-8") as status:
                resident = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
            self.assertAlmostEqual(value_of(metrics, "process_resident_memory_bytes") / resident, 1, delta=0.2)
            self.assertGreater(value_of(metrics, "process_max_fds"), 1000)
            self.assertGreater(value_of(metrics, "process_threads"), 4)
            before = value_of(metrics, "process_cpu_seconds_total")
            deadline = time.monotonic() + 20
            while value_of(server.metrics(), "process_cpu_seconds_total") <= before:
                self.assertLess(time.monotonic(), deadline)
                server.client.call("EstimatorService/BatchEstimate", base=scenario(), candidates=[{}] * 100)


class Drain(unittest.TestCase):
    """One sweep is in flight when SIGTERM comes; health says NOT_SERVING while it runs."""

    def sweep(self, server, points):
        axes = [{"field": "workload.prompt_tokens", "linear": {"start": 1.0, "stop": 10000.0, "count": points // 1000}},
                {"field": "workload.output_tokens", "linear": {"start": 1.0, "stop": 1000.0, "count": 1000}}]
        return server.client.stream("EstimatorService/Sweep", base=scenario(), axes=axes)

    def test_a_short_sweep_ends_whole(self):
        with ServerProcess() as server:
            _, messages = self.sweep(server, 200_000)
            self.assertEqual(next(messages).WhichOneof("part"), "header")
            server.process.send_signal(signal.SIGTERM)
            parts = [message.WhichOneof("part") for message in messages]
            self.assertEqual(parts[-1], "summary")
            self.assertEqual(server.process.wait(timeout=30), 0)

    def test_a_long_sweep_is_cut_at_the_limit(self):
        """A client that does not read holds its sweep open for ever."""
        with ServerProcess(flags=[f"--drain_timeout={DRAIN_SECONDS}s"]) as server:
            _, messages = self.sweep(server, 10_000_000)
            next(messages)
            health = self.watch_health(server)
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(timeout=30), 0)
            self.assertGreater(time.monotonic() - began, DRAIN_SECONDS / 2)
            self.assertLess(time.monotonic() - began, DRAIN_SECONDS + 10)
            with self.assertRaises(Refused):
                list(messages)
            health.join(timeout=10)
            self.assertEqual(self.seen, [1, 2])

    def test_the_other_signals_end_alike(self):
        for ending in (signal.SIGINT, signal.SIGHUP):
            with ServerProcess() as server:
                server.process.send_signal(ending)
                self.assertEqual(server.process.wait(timeout=30), 0)

    def test_fits_are_cut_at_the_limit(self):
        """As many at once as a server works on; left alone they would take a minute."""
        with ServerProcess(flags=[f"--drain_timeout={DRAIN_SECONDS}s"]) as server:
            threads = [threading.Thread(target=self.fit, args=(server,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + 30
            while Metrics.sum_of(server.metrics(), "grpc_server_started_total", "RegisterHardware") < 8:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(timeout=60), 0)
            self.assertLess(time.monotonic() - began, DRAIN_SECONDS + 5)
            for thread in threads:
                thread.join(timeout=10)

    def fit(self, server):
        """A registration of 10,000 samples on which two models disagree with all others."""
        models = ["llama-2-7b", "llama-3.1-8b", "mistral-7b-v0.1", "qwen3-8b"]
        samples = [{"model_id": models[i % 4], "deployment": {"engine": "lab-engine"}, "batch_size": 1 << i % 5,
                    "prompt_tokens": 128 << i % 3, "output_tokens": 128, "tpot_seconds": 0.01 * (1 + i % 7),
                    "ttft_seconds": (1 << i % 5) * (128 << i % 3) * 1e-4 * (1 + i % 4)} for i in range(10_000)]
        with self.assertRaises(Refused):
            server.client.call("CatalogService/RegisterHardware", spec=hardware("drained"), samples=samples,
                               validate_only=True, timeout=60)

    def watch_health(self, server):
        """Reads grpc.health.v1.Health/Watch into self.seen until the server is gone."""
        self.seen = []
        first = threading.Event()

        def watch():
            try:
                for reply in server.client.channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=60):
                    self.seen.append(reply[1])
                    first.set()
            except grpc.RpcError:
                pass

        thread = threading.Thread(target=watch)
        thread.start()
        self.assertTrue(first.wait(timeout=10))
        return thread

    def test_an_idle_server_ends_at_once(self):
        with ServerProcess() as server:
            began = time.monotonic()
            self.assertEqual(server.terminate(), 0)
            self.assertLess(time.monotonic() - began, 5)


class Addresses(unittest.TestCase):
    def test_an_address_that_means_something_else_is_refused(self):
        for flag in ("--listen=127.0.0.1:99999", "--listen=127.0.0.1:65536", "--listen=127.0.0.1", "--listen=",
                     "--listen=50051", "--listen=:50051", "--listen=127.0.0.1:", "--listen=127.0.0.1:-1",
                     "--listen=127.0.0.1:80x", "--listen=::1:50051", "--listen=unix:", "--metrics_listen=56237",
                     "--metrics_listen=127.0.0.1:99999", "--metrics_listen=unix:/tmp/metrics"):
            with self.subTest(flag):
                ended = subprocess.run([SERVER, "--catalog_store=memory:", flag], text=True, capture_output=True,
                                       timeout=60, check=False)
                self.assertEqual(ended.returncode, 2, ended.stderr)
                self.assertIn(flag + "; allowed HOST:PORT with a port of 0 to 65535", ended.stderr)

    def test_no_metrics_are_served_where_no_address_is_given(self):
        with ServerProcess(flags=["--metrics_listen="]) as server:
            self.assertIn("metrics=off", server.log())


class SeveralAddresses(unittest.TestCase):
    def test_each_is_served(self):
        folder = tempfile.mkdtemp(prefix="foretoken-listen-")
        self.addCleanup(shutil.rmtree, folder)
        socket_path = os.path.join(folder, "socket")
        with ServerProcess(flags=[f"--listen=ADDRESS,127.0.0.1:0,unix:{socket_path}"]) as server:
            addresses = re.search("event=serving address=(\\S+)", server.log()).group(1).split(",")
            self.assertEqual((addresses[0], addresses[2]), (server.address, f"unix:{socket_path}"))
            self.assertRegex(addresses[1], "^127.0.0.1:[1-9]")
            for address in addresses:
                health = server.cli("--server", address, "health")
                self.assertEqual((health.returncode, health.stdout), (0, "SERVING\n"), health.stderr)

    def test_one_that_is_taken_stops_the_start(self):
        with ServerProcess() as server:
            ended = subprocess.run([SERVER, "--catalog_store=memory:", "--metrics_listen=",
                                    f"--listen=127.0.0.1:0,{server.address}"], text=True, capture_output=True,
                                   timeout=60, check=False)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("event=listen_failed", ended.stderr)


class ConnectionAge(unittest.TestCase):
    def test_an_old_connection_is_closed_and_no_call_fails(self):
        with ServerProcess(flags=["--max_connection_age=1s", "--max_connection_age_grace=10s"]) as server:
            host, port = server.address.split(":")
            with socket.create_connection((host, int(port)), timeout=10) as old:
                old.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
                ends = time.monotonic() + 4
                while time.monotonic() < ends:
                    server.client.call("EstimatorService/Estimate", scenario=scenario(), timeout=5)
                frames = b""
                while chunk := old.recv(4096):
                    frames += chunk
            self.assertIn(b"\x07\0\0\0\0\0\x7f\xff\xff\xff", frames)  # a GOAWAY that lets calls of any number go on


class SilentPeers(unittest.TestCase):
    def test_connections_that_say_nothing_do_not_hold_up_metrics(self):
        with ServerProcess() as server:
            host, port = server.metrics_address.split(":")
            silent = [socket.create_connection((host, int(port)), timeout=5) for _ in range(40)]
            try:
                for connection in silent:
                    connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
                self.assertIn("foretoken_build_info", server.metrics())  # within the helper's five seconds
            finally:
                for connection in silent:
                    connection.close()


class Descriptors(unittest.TestCase):
    def test_connections_beyond_the_soft_limit_are_served(self):
        with ServerProcess(wrapper=["prlimit", "--nofile=64:4096"]) as server:
            host, port = server.address.split(":")
            idle = [socket.create_connection((host, int(port)), timeout=10) for _ in range(100)]
            late = API.connect(server.address)
            late.call("EstimatorService/Estimate", scenario=scenario())
            late.close()
            for connection in idle:
                connection.close()


class UnknownMethods(unittest.TestCase):
    def test_they_are_refused_and_the_server_goes_on(self):
        """grpcurl asks for grpc.reflection.v1 first, scanners for anything."""
        with ServerProcess() as server:
            for path in ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/a/b", "/foretoken.v1.None/Get"):
                for _ in range(20):
                    with self.assertRaises(grpc.RpcError) as refused:
                        server.client.channel.unary_unary(path)(b"", timeout=10)
                    self.assertEqual(refused.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
            server.client.call("EstimatorService/Estimate", scenario=scenario())
            self.assertIsNone(server.process.poll())


class CallLog(unittest.TestCase):
    TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    def estimate(self, server, *metadata):
        method = API.method("EstimatorService/Estimate")
        request = API.build(method.input_type, {"scenario": scenario()}).SerializeToString()
        server.client.channel.unary_unary("/foretoken.v1.EstimatorService/Estimate")(request, timeout=10,
                                                                                     metadata=metadata)

    def calls(self, server):
        server.terminate()
        lines = [json.loads(line) for line in server.log().splitlines()]
        return [line for line in lines if line["event"] == "call"]

    def test_a_line_has_the_request_id_and_the_trace(self):
        with ServerProcess(flags=["--log_calls=1", "--log_format=json"]) as server:
            self.estimate(server, ("x-request-id", "job-7"), ("traceparent", self.TRACE))
            self.estimate(server, ("traceparent", "00-nonsense-01"))
            named, unnamed = self.calls(server)
            self.assertEqual((named["method"], named["code"], named["request_id"], named["trace"]),
                             ("Estimate", "OK", "job-7", "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"))
            self.assertTrue(named["peer"].startswith("ipv4:127.0.0.1:"))
            self.assertGreater(float(named["ms"]), 0)
            self.assertRegex(unnamed["request_id"], "^[0-9a-f]{16}$")
            self.assertEqual(unnamed["trace"], "")

    def test_a_share_of_the_calls_is_logged(self):
        with ServerProcess(flags=["--log_calls=0.2", "--log_format=json"]) as server:
            for _ in range(1000):
                self.estimate(server)
            self.assertTrue(120 <= len(self.calls(server)) <= 280)  # 200, give or take six standard deviations

    def test_nothing_is_logged_where_nothing_is_asked_for(self):
        with ServerProcess(flags=["--log_format=json"]) as server:
            self.estimate(server)
            self.assertEqual(self.calls(server), [])

    def test_a_share_is_a_share(self):
        for flag in ("--log_calls=1.5", "--log_calls=-0.1", "--log_calls=nan", "--log_format=xml"):
            ended = subprocess.run([SERVER, flag], text=True, capture_output=True, timeout=60, check=False)
            self.assertEqual(ended.returncode, 2, flag)


class Forgery(unittest.TestCase):
    """No text of a caller begins a line of the log or writes to the terminal that shows it."""

    FORGED = "\ntime=2026-01-01T00:00:00.000Z level=error event=forged \x1b[31m\u202e"

    def check(self, server):
        server.terminate()
        with open(server.log_path, "rb") as log:
            text = log.read()
        for raw in (b"\x1b", "\u202e".encode(), b"\xff", b"\r"):
            self.assertNotIn(raw, text)
        for line in text.decode().splitlines():
            self.assertRegex(line, r"^time=\S+ level=\w+ event=")
            self.assertNotIn("event=forged", line.split('"')[0])

    def test_by_a_header_that_is_no_header(self):
        with ServerProcess(flags=["--log_calls=1"]) as server:
            for name, value in ((b"a\n" + self.FORGED.encode(), b"b"), (b"traceparent", self.FORGED.encode()),
                                (b"x-request-id", self.FORGED.encode() + b"\xff"), (b":path", self.FORGED.encode()),
                                (b"te", self.FORGED.encode()), (b"content-type", self.FORGED.encode())):
                self.send_header(server, name, value)
            self.check(server)

    def send_header(self, server, name, value):
        """An HTTP/2 call with one odd header, as literals that HPACK does not index."""
        def literal(key, text):
            return b"\x00" + bytes([len(key)]) + key + bytes([len(text)]) + text
        headers = {b":method": b"POST", b":scheme": b"http", b":path": b"/foretoken.v1.EstimatorService/Estimate",
                   b":authority": b"x", b"te": b"trailers", b"content-type": b"application/grpc"}
        block = b"".join(literal(key, text) for key, text in {**headers, name: value[:120]}.items())
        frames = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
                  + len(block).to_bytes(3, "big") + b"\x01\x04" + (1).to_bytes(4, "big") + block
                  + (5).to_bytes(3, "big") + b"\x00\x01" + (1).to_bytes(4, "big") + bytes(5))
        host, port = server.address.split(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(frames)
            connection.settimeout(0.5)
            try:
                while connection.recv(4096):
                    pass
            except OSError:
                pass

    def test_by_a_request(self):
        with ServerProcess(flags=["--log_calls=1"]) as server:
            for fields in ({"spec": hardware("x" + self.FORGED)}, {"spec": hardware("chip", notes=self.FORGED)},
                           {"spec": hardware("chip2"), "request_id": self.FORGED}, {"spec": hardware("chip3"),
                                                                                    "etag": self.FORGED}):
                try:
                    server.client.call("CatalogService/RegisterHardware", **fields)
                except Refused:
                    pass
            with self.assertRaises(Refused):
                server.client.call("EstimatorService/Estimate",
                                   scenario={**scenario(), "model_id": self.FORGED})
            self.check(server)

    def test_a_flood_of_bad_connections_does_not_fill_the_disk(self):
        with ServerProcess() as server:
            host, port = server.address.split(":")
            for _ in range(500):
                with socket.create_connection((host, int(port)), timeout=5) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nX: \x1b[31m\r\n\r\n")
            server.client.call("EstimatorService/Estimate", scenario=scenario())
            self.check(server)
            self.assertLess(server.log().count("event=grpc"), 200)


class Log(unittest.TestCase):
    def test_what_the_protobuf_library_says_has_the_form_of_every_line(self):
        with ServerProcess() as server:
            bad = b"\x0a\x03\x0a\x01\xff"  # scenario.model_id is no UTF-8
            with self.assertRaises(grpc.RpcError):
                server.client.channel.unary_unary("/foretoken.v1.EstimatorService/Estimate")(bad, timeout=10)
            server.terminate()
            lines = server.log().splitlines()
            self.assertTrue(any("event=protobuf" in line and "UTF-8" in line for line in lines), lines)
            self.assertTrue(all(line.startswith("time=") for line in lines), lines)
            self.assertIn('message="', next(line for line in lines if "event=protobuf" in line))

    def test_the_message_of_a_write_is_cut(self):
        with ServerProcess() as server:
            server.client.call("CatalogService/RegisterHardware", spec=hardware("one"))
            with self.assertRaises(Refused):
                server.client.call("CatalogService/DeleteHardware", hardware_id="one", etag="e" * 3_000_000)
            server.terminate()
            self.assertLess(max(map(len, server.log().splitlines())), 2000)


if __name__ == "__main__":
    unittest.main()
