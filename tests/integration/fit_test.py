"""The loop of a CI job, with real measurements of a device that the catalog is made to know by its datasheet alone:
register its figures, predict, fit some runs on trial, register them, predict the other runs better, go on. And the loop
before any model runs on the device: its figures, kernels timed alone, predictions of mixtures."""

import csv
import json
import os
import random
import tempfile
import unittest
from pathlib import Path

from support.server_process import ServerProcess

VALIDATION = Path(os.environ["FORETOKEN_SOURCE_DIR"], "tests", "validation")
MEASURED, KERNELS = VALIDATION / "argonne.csv", VALIDATION / "kernels" / "experts.csv"
KNOWN, NEW = "nvidia-a100-sxm-40gb", "lab-a100"
ENGINE = "llama.cpp"


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def register_figures(test, known, new):
    """Makes the catalog know a device by the figures of another."""
    spec = test.run_cli("get", "hardware", known).replace(f'id: "{known}"', f'id: "{new}"')
    path = os.path.join(test.folder.name, f"{new}.textproto")
    own = "".join(line for line in spec.splitlines(keepends=True) if not line.startswith("aliases:"))
    Path(path).write_text(own, encoding="utf-8")
    test.run_cli("register-hardware", path)
    return path


class Served(unittest.TestCase):
    """A server and a folder of its own."""

    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.folder.cleanup()

    def write(self, name, rows):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        return path

    def run_cli(self, *arguments, code=0):
        done = self.server.cli(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout


class Fit(Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(MEASURED, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["hardware"] == KNOWN and row["engine"] == ENGINE]
        for row in rows:
            row["hardware"], row["engine"] = NEW, "lab-engine"  # nothing that ships is of it
        cls.rows = random.Random(1).sample(rows, len(rows))

    def error_of(self, path):
        """Median error of E2E over a file, and the provenances of its predictions."""
        rows = list(csv.DictReader(self.run_cli("validate", path, "--rows").splitlines()))
        errors = [abs(float(row["predicted_e2e_s"]) / float(row["e2e_s"]) - 1) for row in rows if row["e2e_s"]]
        return median(errors), {row["provenance"] for row in rows}

    def test_the_whole_loop(self):
        spec = self.run_cli("get", "hardware", KNOWN).replace(f'id: "{KNOWN}"', f'id: "{NEW}"')
        path = os.path.join(self.folder.name, "same_names.textproto")
        Path(path).write_text(spec, encoding="utf-8")
        refused = self.server.cli("register-hardware", path)
        self.assertIn(f'of "{NEW}" is a name of "{KNOWN}"', refused.stderr)
        register_figures(self, KNOWN, NEW)
        few, rest = self.write("few.csv", self.rows[:5]), self.write("rest.csv", self.rows[5:])
        unknown = self.run_cli("validate", rest, "--rows", code=1)
        self.assertIn('unknown engine ""lab-engine""', unknown, "nobody has registered anything of it")
        any_engine = self.write("any.csv", [dict(row, engine="") for row in self.rows[5:]])
        before, provenances = self.error_of(any_engine)
        self.assertEqual(provenances, {"DATASHEET"})

        text = self.run_cli("fit", few)
        self.assertIn("A dry run", text)
        self.assertIn("weight_read_efficiency", text)
        self.assertEqual(self.error_of(any_engine), (before, {"DATASHEET"}), "a dry run changes nothing")
        self.run_cli("validate", rest, "--rows", code=1)

        report = json.loads(self.run_cli("fit", few, "--register", "--output", "json"))
        calibration = report["calibration_report"]["calibrations"][0]
        self.assertEqual(calibration["id"], f"{NEW}.lab-engine")
        after, provenances = self.error_of(rest)
        self.assertEqual(provenances, {"CALIBRATED"})
        self.assertLess(after, 0.7 * before)

        more = self.write("more.csv", self.rows[:60])
        self.run_cli("fit", more, "--register", "--max-median-ape", "0.2")
        better, _ = self.error_of(self.write("others.csv", self.rows[60:]))
        self.assertLess(better, 0.1)
        self.assertIn("FAILED_PRECONDITION, POOR_FIT",
                      self.server.cli("fit", more, "--max-median-ape", "0.001").stderr)

    def test_several_devices_need_a_name(self):
        rows = [dict(self.rows[0]), dict(self.rows[1], hardware=KNOWN)]
        done = self.server.cli("fit", self.write("two.csv", rows))
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"the file has {NEW}, {KNOWN}", done.stderr)


class FitKernels(Served):
    """A device of which kernels alone are known."""

    KNOWN, NEW, ENGINE = "nvidia-h100-sxm-80gb", "lab-h100", "vllm@0.24.0"

    def kernels(self):
        with open(KERNELS, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def of_device(self):
        return [dict(row, hardware=self.NEW) for row in self.kernels() if row["hardware"] == self.KNOWN]

    def ask(self, model, *flags):
        arguments = (model, self.NEW, "--engine", self.ENGINE, "-b", "16", "-p", "1024", "-o", "128",
                     "--batching", "continuous", "--output", "json")
        return json.loads(self.run_cli("estimate", *arguments, *flags))["estimate"]

    def test_the_whole_loop(self):
        spec = register_figures(self, self.KNOWN, self.NEW)
        before, dense_before = self.ask("qwen3-30b-a3b"), self.ask("llama-3.1-8b")
        self.assertEqual((before["prefill"]["provenance"], before["calibration_id"]),
                         ("PROVENANCE_TRANSFERRED", "vllm.continuous"))
        kernels = self.write("kernels.csv", self.of_device())
        self.assertIn("A dry run", self.run_cli("fit", "--kernels", kernels))
        self.assertEqual(self.ask("qwen3-30b-a3b"), before, "a dry run changes nothing")

        report = json.loads(self.run_cli("fit", "--kernels", kernels, "--register",
                                         "--output", "json"))["calibration_report"]
        own = f"{self.NEW}.vllm-0.24.0.continuous"
        errors = [error for error in report["kernel_errors"] if error["calibration_id"] == own]
        self.assertEqual([error["format"] for error in errors], ["16bit", "fp8_block", "int4_weights", "mxfp4_weights"])
        for error in errors:
            self.assertLess(error["in_sample_median_ape"], error["parent_median_ape"], error)
        self.assertTrue(report["rejected_kernels"], "some of the file are faster than the device can be")
        self.assertTrue(report["suspicious_kernels"])
        evidence = {each["calibration_id"]: each for each in report["evidence"]}[own]
        self.assertEqual(evidence["decode"], ["CALIBRATION_BASIS_KERNELS", "CALIBRATION_BASIS_PARENT"])

        after, dense_after = self.ask("qwen3-30b-a3b"), self.ask("llama-3.1-8b")
        self.assertEqual((after["prefill"]["provenance"], after["calibration_id"]), ("PROVENANCE_TRANSFERRED", own))
        self.assertNotEqual(after["ttft"]["seconds"], before["ttft"]["seconds"])
        self.assertEqual(dense_after["ttft"], dense_before["ttft"], "kernels of experts tell nothing of a dense model")
        stored = self.run_cli("get", "calibration", own)
        self.assertIn("kernels_used: 190", stored)
        self.run_cli("register-hardware", spec, "--etag", "*")
        self.assertEqual(self.ask("qwen3-30b-a3b")["calibration_id"], own, "figures alone keep it")
        self.run_cli("register-hardware", spec, "--etag", "*", "--kernels", kernels)

    def test_rows_that_do_not_fit_are_named(self):
        several = self.server.cli("fit", "--kernels", str(KERNELS), "--hardware", self.KNOWN)
        self.assertEqual(several.returncode, 0, several.stderr)
        self.assertRegex(several.stderr, r"experts.csv: left out \d+ rows of other hardware: intel-arc-pro-b60-24gb, ")
        row = dict(self.kernels()[0], tokens="many", dtype="bf16")
        unknown = self.server.cli("fit", "--kernels", self.write("unknown.csv", [row]))
        self.assertEqual(unknown.returncode, 2)
        self.assertIn('unknown.csv:1: unknown column "dtype"; allowed: hardware, engine', unknown.stderr)
        del row["dtype"]
        bad = self.server.cli("fit", "--kernels", self.write("bad.csv", [row]))
        self.assertEqual(bad.returncode, 2)
        self.assertIn('bad.csv:2: tokens "many"; allowed: a whole number of at least 1', bad.stderr)


if __name__ == "__main__":
    unittest.main()
