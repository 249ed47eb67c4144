"""The load driver of the benchmarks: every call is driven for a moment, and what fails is told and ends in failure. No
time is asserted."""

import json
import os
import signal
import subprocess
import unittest

from support.server_process import BINARY_DIR, ServerProcess, free_port

DRIVER = os.path.join(BINARY_DIR, "foretoken-load")


def drive(address, call, **flags):
    """A finished run of a moment; its JSON is in `result`, None where there is none."""
    flags = {"target": address, "call": call, "seconds": 0.2, "warm_up": 0.05, "values": 8, **flags}
    run = subprocess.run([DRIVER, *[f"--{name}={value}" for name, value in flags.items()]], capture_output=True,
                         text=True, timeout=60, check=False)
    run.result = json.loads(run.stdout) if run.stdout else None
    return run


class Answered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(store="memory:", flags=["--serve_baseline"])

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def drive(self, call, **flags):
        run = drive(self.server.address, call, server_pid=self.server.process.pid, **flags)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.result["errors"], 0)
        return run.result

    def test_closed_loop(self):
        for call in ("empty", "payload", "estimate", "moe"):
            with self.subTest(call):
                result = self.drive(call, in_flight=4, connections=2)
                self.assertGreater(result["calls"], 0)
                self.assertLessEqual(result["unanswered"], 4)
                self.assertGreater(result["response_bytes"], 0)
                self.assertLessEqual(result["p50_us"], result["p99_us"])

    def test_a_payload_is_as_long_as_asked(self):
        with_prefixes = 482 + 5 + 3  # gRPC's, and the field's key and length
        run = self.drive("payload", reply_bytes=482, in_flight=1)
        self.assertAlmostEqual(run["response_bytes"], with_prefixes, delta=0.01 * with_prefixes)

    def test_open_loop(self):
        for call in ("estimate", "batch", "live_batch"):
            with self.subTest(call):
                result = self.drive(call, rate=200, candidates=3)
                self.assertGreater(result["calls"], 0)
                self.assertEqual(result["held_back"], 0)

    def test_calls_that_the_server_has_no_room_for_are_held_back(self):
        result = self.drive("batch", rate=20_000, candidates=500, hold_back=True)
        self.assertGreater(result["held_back"], 0)
        self.assertLessEqual(result["unanswered"], 100)  # of one connection

    def test_streams(self):
        for call in ("sweep", "mix", "columns", "slow"):
            with self.subTest(call):
                self.assertGreater(self.drive(call)["points"], 0)
        one_sweep = self.drive("sweep", seconds=0)
        self.assertEqual(one_sweep["points"], 8**3)
        self.assertGreaterEqual(self.drive("columns")["points"], 8**3)  # whole chunks

    def test_registrations(self):
        self.assertGreater(self.drive("register", rate=50)["written"], 0)


class Refused(unittest.TestCase):
    def check(self, run, code, message):
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        self.assertIn(message, run.stderr)

    def test_errors_of_the_server(self):
        with ServerProcess(store="memory:") as server:  # serves no baseline
            run = drive(server.address, "empty", in_flight=1)
            self.check(run, 1, "grpc-status 12")
            self.assertEqual(run.result["calls"], 0)
            self.assertGreater(run.result["errors"], 0)
            self.check(drive(server.address, "batch", candidates=1001, in_flight=1), 1, "allowed 1 to 1000")
            self.check(drive(server.address, "columns"), 1, "status 12")
            self.check(drive(server.address, "sweep", values=1000), 1, "points")

    def test_nobody_there(self):
        address = f"127.0.0.1:{free_port()}"
        self.check(drive(address, "estimate"), 1, f"no connection to {address}: Connection refused")
        self.check(drive(address, "columns"), 1, "status 14")
        self.check(drive(address, "sweep"), 1, "UNAVAILABLE")

    def test_a_server_that_does_not_answer(self):
        with ServerProcess(store="memory:") as server:
            server.process.send_signal(signal.SIGSTOP)
            run = drive(server.address, "estimate", in_flight=3)
            self.check(run, 1, "no call was answered, 3 had begun")

    def test_wrong_flags(self):
        self.check(drive("localhost", "estimate"), 2, "allowed HOST:PORT")
        self.check(drive("127.0.0.1:1", "estmate"), 2, "--call=estmate")
        self.check(drive("127.0.0.1:1", "register"), 2, "needs one above 0")


if __name__ == "__main__":
    unittest.main()
