"""The picture of an estimate. Needs matplotlib, so tests/clients/run runs it."""

import unittest

import matplotlib

matplotlib.use("agg")

import foretoken
from foretoken import plot
from support.server_process import ServerProcess


class Waterfall(unittest.TestCase):
    def bars(self, **asked):
        with ServerProcess(store="memory:") as server, foretoken.Client(server.address) as client:
            reply = client.estimate("llama-3.1-8b", "nvidia-h100-sxm-80gb", prompt_tokens=2048, output_tokens=256, **asked)
        axes = plot.waterfall(reply)
        labels = [label.get_text() for label in axes.get_yticklabels()]
        return reply.estimate, labels, [(bar.get_x(), bar.get_width()) for bar in axes.patches]

    def test_each_bar_begins_where_the_last_ends(self):
        estimate, labels, bars = self.bars(tp=2, engine="vllm")
        end = 0.0
        for begin, width in bars:
            self.assertAlmostEqual(begin, end)
            end += width
        self.assertAlmostEqual(end, estimate.e2e.seconds)
        self.assertTrue(labels[0].startswith("prefill compute, "), labels)
        self.assertEqual(len(labels), len(bars))

    def test_a_part_that_takes_no_time_has_no_bar(self):
        _, labels, _ = self.bars(method="speed_of_light")
        self.assertFalse([label for label in labels if "host" in label or "communication" in label])


if __name__ == "__main__":
    unittest.main()
