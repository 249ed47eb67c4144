"""A short run of the chaos driver; chaos.py itself runs for as long as asked."""

import unittest

import chaos


class Short(unittest.TestCase):
    def test_twenty_seconds(self):
        run = chaos.run(seconds=20, seed=7)
        self.assertGreater(sum(run.done.values()), 3)
        self.assertGreater(run.journal.counts()["acknowledged"], 100)
        self.assertGreater(run.journal.counts()["refused"], 20)


if __name__ == "__main__":
    unittest.main()
