"""The soak itself: it notices memory that grows and calls that fail, and a short run of it goes well. A short run says
nothing about memory."""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "integration"))

# pylint: disable=wrong-import-position
from flat import faults, growth_of  # noqa: E402
from traffic import Tally, Worker  # noqa: E402


class Flat(unittest.TestCase):
    def test_growth_is_over_the_highest_minute_of_the_warm_up(self):
        for name, by_minute, growth in (
                ("flat", [90, 100, 99, 100, 100, 100, 100], 0.0),
                ("grown", [90, 100, 99, 100, 100, 100, 106], 0.06),
                ("grown and shrunk again", [100, 100, 100, 100, 100, 110, 100], 0.10),
                ("shrunk", [100, 100, 100, 100, 100, 80, 80], -0.2),
                ("with gaps", [None, 100, None, 100, None, None, 105], 0.05),
                ("too short", [100, 100, 100, 100, 200], None),
                ("nothing before", [None] * 5 + [100], None)):
            with self.subTest(name):
                found = growth_of(by_minute)
                self.assertEqual(found is None, growth is None)
                self.assertAlmostEqual(found or 0, growth or 0)

    def test_five_percent_are_allowed(self):
        self.assertEqual(faults({"one": [100.0] * 5 + [104.9], "other": [100.0] * 5 + [105.1]}),
                         ["other: memory grew by 5.1% after minute 5; allowed 5%"])


class FakeReplica:
    name, ends = "one", 0


class Failing(Worker):
    def work(self):
        self.replica.ends += self.kills
        self.ending.set()
        raise RuntimeError("lost")


class Failures(unittest.TestCase):
    def run_one(self, kills):
        Failing.kills = kills
        tally = Tally()
        Failing(FakeReplica(), tally).join(timeout=10)
        return tally

    def test_a_call_that_fails_at_a_replica_that_runs_counts(self):
        self.assertEqual(self.run_one(kills=0).failures, ["one Failing: lost"])

    def test_a_call_that_a_kill_cuts_does_not(self):
        tally = self.run_one(kills=2)
        self.assertEqual((tally.failures, tally.counts["cut by a kill"]), ([], 1))


class ShortRun(unittest.TestCase):
    def test_it_goes_well(self):
        began = time.monotonic()
        done = subprocess.run(
            [str(HERE / "run"), "--minutes=0.3", "--kill_seconds=5", "--capacity_seconds=1",
             f"--build={os.environ['FORETOKEN_BINARY_DIR']}"], capture_output=True, text=True, check=False, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(f"{done.stdout.splitlines()[-1]} ({time.monotonic() - began:.0f} s)")
        for part in ("cancelled sweeps", "whole sweeps", "registrations", "kills", "estimate", "live_batch"):
            self.assertRegex(done.stdout, rf"{part} [1-9]")


if __name__ == "__main__":
    unittest.main()
