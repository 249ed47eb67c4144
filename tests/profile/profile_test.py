"""`foretoken profile` from an endpoint to a calibration: planned, measured, killed and resumed, registered, predicted."""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))
# pylint: disable=wrong-import-position
from support.server_process import BINARY_DIR, CLI, ServerTestCase  # noqa: E402

ENDPOINT = os.path.join(BINARY_DIR, "foretoken_fake_endpoint")
SHAPE = ["qwen3-0.6b", "nvidia-h100-sxm-80gb"]
# Steps of 10 ms, so that a busy machine adds little.
SLOW = ["--hardware", SHAPE[1], "--model", SHAPE[0], "--time_scale", "4"]
FEW = ["--most-concurrent", "4", "--longest-prompt", "512", "--longest-output", "16"]


class Profile(ServerTestCase):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = Path(self.folder.name) / "runs.csv"

    def endpoint(self, *flags):
        """The URL of a fake endpoint, which ends with the test."""
        process = subprocess.Popen([ENDPOINT, *SLOW, *flags], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process.stdout.readline().split()[-1]

    def profile(self, url, *flags):
        return self.server.cli("profile", *SHAPE, "--endpoint", url, "--out", str(self.out), *FEW, *flags)

    def profile_until(self, url, rows):
        """A profile that goes on, with at least so many rows written."""
        process = subprocess.Popen([CLI, "profile", *SHAPE, "--endpoint", url, "--out", str(self.out), *FEW, "--budget",
                                    "60s"], env={**os.environ, "FORETOKEN_SERVER": self.server.address},
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (self.out.exists() and len(self.rows()) >= rows):
            time.sleep(0.05)
        return process

    def rows(self):
        with open(self.out, encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_from_nothing_to_predictions(self):
        done = self.profile(self.endpoint(), "--budget", "25s", "--register")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("engine vllm (/v1/models), version 0.11.0 (/version)", done.stderr)
        self.assertIn("max_num_seqs (--max-running)", done.stderr)
        self.assertIn("registered hardware nvidia-h100-sxm-80gb", done.stdout)
        self.assertIn("against measurements that the fit did not see", done.stdout)
        rows = self.rows()
        self.assertGreaterEqual(len(rows), 6)
        self.assertEqual({row["engine_version"] for row in rows}, {"0.11.0"})
        for row in rows:
            self.assertLess(float(row["ttft_s"]), float(row["e2e_s"]))
            self.assertLessEqual(float(row["ttft_p50_s"]), float(row["ttft_p99_s"]))
        shown = self.server.cli("estimate", *SHAPE, "--engine", "vllm@0.11.0", "--batching", "continuous", "-p", "128",
                                "-o", "16")
        self.assertIn("CALIBRATED, calibration nvidia-h100-sxm-80gb.vllm-0.11.0.continuous", shown.stdout)

    def test_a_gate_that_fails_registers_nothing(self):
        done = self.profile(self.endpoint(), "--budget", "8s", "--register", "--max-median-ape", "1e-9")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("POOR_FIT", done.stderr)
        revisions = self.server.cli("revisions", "hardware", SHAPE[1])
        self.assertNotIn("registered", revisions.stdout)
        self.assertGreaterEqual(len(self.rows()), 3)  # what was measured is kept

    def test_killed_it_goes_on(self):
        url = self.endpoint()
        first = self.profile_until(url, 3)
        first.send_signal(signal.SIGKILL)
        first.communicate(timeout=30)
        kept = [row["source"] for row in self.rows()]
        self.assertGreaterEqual(len(kept), 3)
        done = self.profile(url, "--budget", "6s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{len(kept)} of them from before", done.stdout)
        self.assertEqual([row["source"] for row in self.rows()][:len(kept)], kept)
        self.assertEqual(len({row["source"].split(";")[0] for row in self.rows()}), len(self.rows()))

    def test_an_interrupt_keeps_the_rows(self):
        first = self.profile_until(self.endpoint(), 1)
        first.send_signal(signal.SIGINT)
        out, _ = first.communicate(timeout=30)
        self.assertEqual(first.returncode, 130)
        self.assertIn("0 of them from before", out)
        self.assertTrue(self.rows())

    def test_loads_of_a_file(self):
        points = Path(self.folder.name) / "points.csv"
        points.write_text("batch_size,request_rate,requests,prompt_tokens,prompt_tokens_min,output_tokens\n"
                          "2,,4,64,,8\n,20,6,32,16,4\n4,,4,64,,8\n", encoding="utf-8")
        requests = Path(self.folder.name) / "requests.csv"
        done = self.profile(self.endpoint(), "--points", str(points), "--requests-out", str(requests))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["source"].split(";")[0]: row for row in self.rows()}
        self.assertEqual(set(rows), {"foretoken profile: 2 at once, 64 + 8 tokens, 4 requests",
                                     "foretoken profile: 20 requests/s, 16 to 32 + 4 tokens, 6 requests",
                                     "foretoken profile: 4 at once, 64 + 8 tokens, 4 requests"})
        self.assertEqual(rows["foretoken profile: 20 requests/s, 16 to 32 + 4 tokens, 6 requests"]["request_rate"], "20")
        with open(requests, encoding="utf-8") as file:
            self.assertEqual({row["status"] for row in csv.DictReader(file)}, {"ok"})

    def test_spoiled_loads_are_named_and_not_used(self):
        done = self.profile(self.endpoint("--faults=early_stop=0.2"), "--budget", "6s")
        self.assertIn("not used", done.stdout, done.stderr)
        self.assertIn("outputs are shorter than asked", done.stdout)

    def test_the_script_of_ci_waits_measures_and_registers(self):
        script = Path(os.environ["FORETOKEN_SOURCE_DIR"]) / "deploy" / "ci" / "profile"
        environment = {**os.environ, "PATH": f"{BINARY_DIR}:{os.environ['PATH']}", "OUT": str(self.out), "BUDGET": "8s",
                       "ENDPOINT": self.endpoint(), "FORETOKEN_SERVER": self.server.address, "MAX_MEDIAN_APE": "0.9"}
        done = subprocess.run([script, *SHAPE, *FEW], env=environment, capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("registered hardware", done.stdout)
        environment |= {"ENDPOINT": "http://127.0.0.1:1", "WAIT_SECONDS": "1"}
        done = subprocess.run([script, *SHAPE], env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 5)
        self.assertIn("http://127.0.0.1:1 did not answer within 1 s", done.stderr)

    def test_a_plan_is_shown_without_measuring(self):
        done = self.profile(self.endpoint(), "--show-plan", "--budget", "1m")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 at once, 32 + 16 tokens, 3 requests", done.stdout)
        self.assertFalse(self.out.exists())

    def test_what_is_missing_is_asked_for(self):
        url = self.endpoint("--faults=without_metrics=1")
        cases = [
            (["profile", *SHAPE, "--endpoint", "127.0.0.1:1", "--out", "x.csv"], 2, "http://HOST:PORT"),
            (["profile", *SHAPE, "--endpoint", "http://127.0.0.1:1", "--out", "x.csv"], 4, "/v1/models"),
            (["profile", *SHAPE, "--endpoint", url], 2, "--out"),
            (["profile", "--endpoint", url, "--out", "x.csv"], 2, "MODEL"),
            (["profile", *SHAPE, "--endpoint", url, "--out", "x.csv", "--served-model", "other"], 2, "allowed"),
            (["profile", *SHAPE, "--endpoint", url, "--out", "x.csv", "--points", "/none.csv"], 2, "--points"),
        ]
        for arguments, code, text in cases:
            with self.subTest(arguments):
                done = self.server.cli(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
