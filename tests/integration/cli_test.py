"""The command line against a real server: exit codes, JSON that parses, CSV with its columns, suggestions."""

import csv
import io
import json
import os
import subprocess
import unittest

from support.server_process import CLI, ServerTestCase, free_port

SHAPE = ["--model", "llama-3.1-8b", "--hardware", "nvidia-h100-sxm-80gb", "--batch", "8", "--prompt", "1024",
         "--output-tokens", "128"]


class CommandLine(ServerTestCase):
    def run_ok(self, *arguments):
        done = self.server.cli(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_exit_codes(self):
        cases = [
            (["--help"], 0),
            (["health"], 0),
            (["estimate", *SHAPE], 0),
            (["no-such-command"], 2),
            (["estimate", *SHAPE, "--batch", "0"], 2),
            (["estimate", *SHAPE[2:], "--model", "llama-3.1-8x"], 3),
            (["get", "hardware", "no-such-hardware"], 3),
            (["estimate", *SHAPE[2:], "--model", "llama-3.1-405b"], 4),
        ]
        for arguments, want in cases:
            with self.subTest(arguments):
                self.assertEqual(self.server.cli(*arguments).returncode, want)

    def test_a_refusal_is_printed_once(self):
        done = self.server.cli("estimate", *SHAPE[2:], "--model", "llama-3.1-405b")
        first, second = done.stderr.splitlines()
        self.assertRegex(first, r"^foretoken: llama-3.1-405b on .* needs [0-9.]+ GB per device .*OUT_OF_MEMORY\)$")
        self.assertRegex(second, r"^  field scenario.workload.batch_size: batch_size \d+ needs \d+ bytes per device; ")
        self.assertLess(len(second), len(first))

    def test_no_server(self):
        environment = {**os.environ, "FORETOKEN_SERVER": f"127.0.0.1:{free_port()}"}
        done = subprocess.run([CLI, "health"], env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertTrue(done.stderr)

    def test_a_mistyped_id_is_answered_with_the_closest(self):
        done = self.server.cli("estimate", *SHAPE[2:], "--model", "llama-3.1-8x")
        self.assertIn("llama-3.1-8b", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_an_engine_is_known_or_refused_and_what_stands_in_is_named(self):
        done = self.server.cli("estimate", *SHAPE, "--engine", "vlmm")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('unknown engine "vlmm"; did you mean vllm?', done.stderr)
        self.assertIn("field scenario.deployment.engine", done.stderr)
        self.assertNotIn("warning", self.run_ok("estimate", *SHAPE, "--engine", "vllm"))
        said = "warning: no calibration of engine sglang for continuous batching; answered by the generic prior"
        shape = [*SHAPE[4:], "--engine", "sglang", "--batching", "continuous"]
        self.assertIn(said, self.run_ok("estimate", *SHAPE, "--engine", "sglang", "--batching", "continuous"))
        self.assertEqual(self.run_ok("compare", "llama-3.1-8b", "nvidia-h100-sxm-80gb", "nvidia-h200-sxm-141gb",
                                     *shape).count(said), 1)
        swept = self.run_ok("sweep", *SHAPE, "--engine", "sglang", "-x", "batching=static,continuous", "-x", "batch=1,2")
        self.assertIn(said + " (deployment.engine), 2 points", swept)

    def test_an_answer_that_cannot_be_written_is_a_fault(self):
        commands = [["--help"], ["health"], ["completion", "bash"], ["estimate", *SHAPE],
                    ["get", "model", "llama-3.1-8b"], ["list", "models", "--output", "json"],
                    ["sweep", *SHAPE, "-x", "batch=1..64", "--output", "csv"]]
        environment = {**os.environ, "FORETOKEN_SERVER": self.server.address}
        for arguments in commands:
            for shell in ('"$@" >/dev/full', '"$@" >&-'):
                with self.subTest(arguments, shell=shell):
                    done = subprocess.run(["/bin/sh", "-c", shell, "sh", CLI, *arguments], env=environment,
                                          capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(done.returncode, 11, done.stderr)
                    self.assertIn("standard output cannot be written", done.stderr)

    def test_what_cannot_be_read_is_refused(self):
        environment = {**os.environ, "FORETOKEN_SERVER": self.server.address}
        for arguments, code in ((["estimate", *SHAPE, "--scenario"], 2), (["register-hardware"], 2), (["fit"], 2),
                                (["register-model", "--id", "x"], 2), (["validate"], 1)):
            for file, why in ((os.path.dirname(CLI), "Is a directory"), ("-", "it is closed")):
                with self.subTest(arguments, file=file):
                    done = subprocess.run(["/bin/sh", "-c", '"$@" <&-', "sh", CLI, *arguments, file], env=environment,
                                          capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertIn(f"cannot be read: {why}", done.stderr)

    def test_json_parses(self):
        reply = json.loads(self.run_ok("estimate", *SHAPE, "--output", "json"))
        self.assertGreater(reply["estimate"]["ttft"]["seconds"], 0)
        for arguments in (["explain", *SHAPE], ["get", "hardware", "nvidia-h100-sxm-80gb"], ["list", "models"]):
            with self.subTest(arguments):
                json.loads(self.run_ok(*arguments, "--output", "json"))

    def test_csv_has_its_columns(self):
        rows = list(csv.DictReader(io.StringIO(self.run_ok("estimate", *SHAPE, "--output", "csv"))))
        self.assertEqual(len(rows), 1)
        self.assertGreater(float(rows[0]["ttft_seconds"]), 0)
        for column in ("kv_bytes_per_token", "prefill_utilization", "decode_utilization"):
            self.assertGreater(float(rows[0][column]), 0, column)
        hardware = list(csv.DictReader(io.StringIO(self.run_ok("list", "hardware", "--output", "csv"))))
        self.assertGreater(len(hardware), 99)
        self.assertIn("nvidia-h100-sxm-80gb", [row["id"] for row in hardware])


if __name__ == "__main__":
    unittest.main()
