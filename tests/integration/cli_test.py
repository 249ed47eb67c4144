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

    def test_aliases_are_answered_as_their_ids_are(self):
        by_id = self.run_ok("estimate", *SHAPE, "--output", "json")
        names = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--hardware", "NVIDIA H100 80GB HBM3"]
        self.assertEqual(json.loads(self.run_ok("estimate", *names, *SHAPE[4:], "--output", "json")),
                         json.loads(by_id))
        self.assertIn('aliases: "h100_sxm"', self.run_ok("get", "hardware", "H100-SXM"))
        shape = [*SHAPE[4:], "--engine", "vllm"]
        notes = [line for line in self.run_ok("compare", names[1], "h100_sxm", "mi300x", *shape).splitlines()
                 if line.startswith("note")]
        ids = self.run_ok("compare", "llama-3.1-8b", "nvidia-h100-sxm-80gb", "amd-mi300x-192gb", *shape).splitlines()
        self.assertEqual(notes, [line for line in ids if line.startswith("note")])

    def complete(self, *words):
        script = ('source <(foretoken completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _foretoken; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        environment = {**os.environ, "FORETOKEN_SERVER": self.server.address,
                       "PATH": f"{os.path.dirname(CLI)}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", script, "bash", "foretoken", *words], env=environment,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_the_shell_completes_ids_and_where_none_begins_so_aliases(self):
        cases = [
            (["esti"], ["estimate"]),
            (["estimate", "llama-3.1-8"], ["llama-3.1-8b"]),
            (["estimate", "meta-llama/Llama-3.1-8"],
             ["meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"]),
            (["estimate", "llama-3.1-8b", "NVIDIA-H100-8"], ["NVIDIA-H100-80GB-HBM3"]),
            (["compare", "llama-3.1-8b", "mi300x", "h100_s"], ["h100_sxm"]),
            (["sweep", "--hardware", "h100_s"], ["h100_sxm"]),
            (["get", "model", "openai/gpt-oss-1"], ["openai/gpt-oss-120b"]),
            (["get", "model", "no-such"], []),
        ]
        for words, want in cases:
            with self.subTest(words):
                self.assertEqual(self.complete(*words), want)

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
