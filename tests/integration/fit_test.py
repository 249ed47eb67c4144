"""The loop of a CI job, with real measurements of a device that the catalog is made to know by its datasheet alone:
register its figures, predict, fit some runs on trial, register them, predict the other runs better, go on."""

import csv
import json
import os
import random
import tempfile
import unittest
from pathlib import Path

from support.server_process import ServerProcess

MEASURED = Path(os.environ["FORETOKEN_SOURCE_DIR"], "tests", "validation", "argonne.csv")
KNOWN, NEW = "nvidia-a100-sxm-40gb", "lab-a100"
ENGINE = "llama.cpp"


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


class Fit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess()
        cls.folder = tempfile.TemporaryDirectory()
        with open(MEASURED, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["hardware"] == KNOWN and row["engine"] == ENGINE]
        for row in rows:
            row["hardware"], row["engine"] = NEW, "lab-engine"  # nothing that ships is of it
        cls.rows = random.Random(1).sample(rows, len(rows))

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

    def error_of(self, path):
        """Median error of E2E over a file, and the provenances of its predictions."""
        rows = list(csv.DictReader(self.run_cli("validate", path, "--rows").splitlines()))
        errors = [abs(float(row["predicted_e2e_s"]) / float(row["e2e_s"]) - 1) for row in rows if row["e2e_s"]]
        return median(errors), {row["provenance"] for row in rows}

    def test_the_whole_loop(self):
        spec = self.run_cli("get", "hardware", KNOWN).replace(f'id: "{KNOWN}"', f'id: "{NEW}"')
        spec_path = os.path.join(self.folder.name, "spec.textproto")
        Path(spec_path).write_text(spec, encoding="utf-8")
        refused = self.server.cli("register-hardware", spec_path)
        self.assertIn(f'of "{NEW}" is a name of "{KNOWN}"', refused.stderr)
        own = "".join(line for line in spec.splitlines(keepends=True) if not line.startswith("aliases:"))
        Path(spec_path).write_text(own, encoding="utf-8")
        self.run_cli("register-hardware", spec_path)
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


if __name__ == "__main__":
    unittest.main()
