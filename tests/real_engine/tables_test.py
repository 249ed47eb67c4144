"""The schedule of exact.py and the statistics of report.py, by worked numbers."""

import unittest

import exact
import report


def state(budget=512, seats=16, prompt=32, output=4, cached=0):
    return {"state": "s", "max_num_batched_tokens": budget, "max_num_seqs": seats, "probe_cached_tokens": cached,
            "probe_prompt_tokens": prompt, "probe_output_tokens": output}


def request(prompt, output, received, sent=-1.0):
    return {"prompt_tokens": prompt, "output_tokens": output, "received_tokens": received, "sent_s": sent,
            "remaining_tokens": output - received}


class Schedule(unittest.TestCase):
    def check(self, row, requests, first, last, begun=(), left=0):
        self.assertEqual(exact.probe_features(row, requests, list(begun), left, exact.ALL), (first, last))

    def test_alone_on_an_idle_engine(self):
        # One step for the prompt: 32 tokens, 32 * 32/2 pairs. Then 3 decodes that see 33, 34 and 35 tokens.
        # A decode's context is counted with its own token: 34 + 35 + 36.
        self.check(state(), [], [1, 32, 0, 0, 512], [4, 32, 3, 34 + 35 + 36, 512])

    def test_a_prompt_is_cut_to_what_decodes_leave(self):
        # One sequence decodes: half of its step is over. Of 40 tokens a step takes 31, then 9 after 31.
        decodes = [request(10, 9, 1)]
        sums = [2.5, 40, 2.5, 0.5 * 12 + 13 + 14, 31 * 15.5 + 9 * 35.5]
        self.check(state(budget=32, prompt=40, output=1), decodes, sums, sums)

    def test_it_waits_for_the_only_seat(self):
        # Two tokens left: the step that runs and one more. Then the probe's own.
        self.check(state(seats=1, output=1), [request(10, 3, 1)], [2.5, 32, 1.5, 0.5 * 12 + 13, 512],
                   [2.5, 32, 1.5, 0.5 * 12 + 13, 512])

    def test_cached_tokens_are_not_computed_again(self):
        # 8 tokens after 24.
        self.check(state(output=1, cached=24), [], [1, 8, 0, 0, 8 * 28], [1, 8, 0, 0, 8 * 28])

    def test_by_means_sequences_end_evenly(self):
        running = [exact.Sequence(10, output, 0, 1) for output in (11, 11, 11)]
        for tells, wanted in ((exact.MEANS, [5, 10, 15]), (exact.LEAST, [10, 10, 10])):
            self.assertEqual([s.output - s.received for s in exact.by_means(running, tells)], wanted)

    def test_constants_are_found_again(self):
        features = [[1, n, d, c, n * n]
                    for n, d, c in ((1, 2, 30), (4, 1, 7), (2, 5, 11), (9, 3, 40), (3, 8, 2), (6, 6, 6))]
        constants = [0.5, 0.25, 0.125, 0.01, 0.03]
        found = exact.fit(features, [exact.dot(line, constants) for line in features])
        for one, other in zip(found, constants):
            self.assertAlmostEqual(one, other, 6)


class Statistics(unittest.TestCase):
    def test_error_ratio_and_level(self):
        seen = [(1.0, 2.0), (2.0, 4.0), (4.0, 8.8)]
        self.assertEqual(report.error(seen), 1.0)
        self.assertAlmostEqual(report.ratio([(1.0, 2.0), (1.0, 0.5)]), 1.0)
        self.assertEqual(report.level_free(seen), 0.0)

    def test_ranks_share_ties(self):
        self.assertEqual(report.ranks([3, 1, 3, 2]), [2.5, 0, 2.5, 1])
        self.assertEqual(report.rank_correlation([(m, -m) for m in (1, 5, 2, 9, 4)]), -1.0)


if __name__ == "__main__":
    unittest.main()
