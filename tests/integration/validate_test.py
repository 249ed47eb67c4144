"""`foretoken validate` over the measurements that ship: every row gets a status, and malformed rows are all told by line."""

import csv
import io
import math
import os
import tempfile
import unittest
from pathlib import Path

from support.server_process import ServerTestCase

FILES = sorted(Path(os.environ["FORETOKEN_SOURCE_DIR"], "tests", "validation").glob("**/*.csv"))
FILES = [file for file in FILES if file.parent.name not in ("peers", "kernels", "real_engine")]  # of other tools; no runs; unknown ids
ADDED = ["predicted_ttft_s", "predicted_tpot_s", "predicted_e2e_s", "ttft_low_s", "ttft_high_s", "tpot_low_s",
         "tpot_high_s", "e2e_low_s", "e2e_high_s", "provenance", "status"]


class Validate(ServerTestCase):
    def test_every_row_gets_a_status(self):
        self.assertEqual(len(FILES), 9)
        estimated = 0
        for file in FILES:
            with self.subTest(file.name):
                done = self.server.cli("validate", str(file), "--rows")
                self.assertEqual(done.returncode, 0, done.stderr)
                estimated += self.check_rows(file, list(csv.DictReader(io.StringIO(done.stdout))))
        self.assertGreater(estimated, 50)

    def test_every_closed_loop_is_answered(self):
        file = next(file for file in FILES if file.stem == "served_closed_loop")
        rows = list(csv.DictReader(io.StringIO(self.server.cli("validate", str(file), "--rows").stdout)))
        self.assertEqual({row["status"] for row in rows}, {"OK"})
        errors = sorted(abs(float(row["predicted_tpot_s"]) / float(row["tpot_s"]) - 1) for row in rows)
        self.assertLess(errors[len(errors) // 2], 0.2)

    def test_loads_at_a_rate_are_answered_or_unstable(self):
        file = next(file for file in FILES if file.stem == "tensorrt_llm_rates")
        rows = list(csv.DictReader(io.StringIO(self.server.cli("validate", str(file), "--rows").stdout)))
        refused = [row for row in rows if row["status"] != "OK"]
        self.assertTrue(0 < len(refused) < len(rows) / 8, refused)
        for row in refused:
            self.assertIn("UNSTABLE_LOAD", row["status"])
            self.assertGreaterEqual(float(row["request_rate"]), 16)

    def check_rows(self, file, rows):
        given = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
        self.assertEqual(len(rows), len(given))
        for before, after in zip(given, rows):
            self.assertEqual({column: after[column] for column in before}, before)
            self.assertTrue(set(ADDED) <= set(after))
            self.assertTrue(after["status"])
            predicted = [after[column] for column in ADDED[:3]]
            if after["status"] == "OK":
                self.assertTrue(all(math.isfinite(float(value)) and float(value) > 0 for value in predicted), after)
                self.assertTrue(after["provenance"])
            else:
                self.assertEqual(predicted, ["", "", ""])
        return sum(row["status"] == "OK" for row in rows)

    def test_the_report_has_the_errors_of_each_metric(self):
        done = self.server.cli("validate", str(FILES[0]))
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("TTFT", "TPOT", "E2E", "median", "mean", "bias"):
            self.assertIn(word.lower(), done.stdout.lower())

    def test_malformed_rows_are_all_named_by_line(self):
        header, good = FILES[0].read_text(encoding="utf-8").splitlines()[:2]
        fields = good.split(",")
        bad_batch = ",".join([*fields[:12], "-3", *fields[13:]])
        bad_time = ",".join([*fields[:18], "nan", *fields[19:]])
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("\n".join([header, good, bad_batch, bad_time]) + "\n")
            file.flush()
            done = self.server.cli("validate", file.name)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("3", done.stderr)
        self.assertIn("4", done.stderr)


if __name__ == "__main__":
    unittest.main()
