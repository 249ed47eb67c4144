"""The scores behind docs/validation, and how other tools' predictions are joined with the measurements."""

import unittest

import figures
import scores


def prediction(model, measured, predicted, **fields):
    return scores.Prediction(**{"case": "case", "file": "file", "line": 1, "hardware": "device", "engine": "engine",
                                "kind": "dense", "serving": "static", "model": model,
                                "measured": (None, None, measured), "predicted": (None, None, predicted), **fields})


class Scores(unittest.TestCase):
    # Two curves: errors of 10%, 20% and 60% have the median 20%, one of 50% stands alone; the mean is 35%. The ratios
    # 1/1.1, 1/0.8 and 1/1.6 have the median 1/1.1; with 2/3 of the other curve the geometric mean is 0.778.
    def test_median_within_a_curve_mean_across(self):
        predictions = [prediction("a", 1, 1.1), prediction("a", 1, 0.8), prediction("a", 1, 1.6), prediction("b", 2, 3)]
        found = scores.score(predictions, "e2e")
        self.assertAlmostEqual(found.error, 35)
        self.assertAlmostEqual(found.ratio, (2 / 3 / 1.1) ** 0.5)
        self.assertEqual(found.groups, 2)
        self.assertIsNone(scores.score(predictions, "ttft"))

    def test_draws_are_scored_alike(self):
        predictions = [prediction(model, 1, predicted, case="five_samples")
                       for model, predicted in (("a", 1.1), ("a", 0.8), ("a", 1.6), ("b", 1.5))]
        self.assertAlmostEqual(scores.score(predictions, "e2e").error, 35)  # of 10, 20, 50 and 60

    def test_a_fit_without_the_gpu_goes_before_one_without_the_engine(self):
        predictions = [prediction("a", 1, time, case=case) for case, time in
                       (("hardware_left_out", 2), ("generic_left_out", 3), ("model_left_out", 4))]
        self.assertEqual([p.predicted[2] for p in figures.without_hardware(predictions)], [2])


class Peers(unittest.TestCase):
    LEFT_OUT = {("aiconfigurator", "served_closed_loop"): 149, ("aisimulate", "served_closed_loop"): 24}

    def test_every_row_is_a_measurement(self):
        for tool, file, _, answered in scores.read_asked():
            with self.subTest(tool=tool, file=file):
                self.assertEqual(len(scores.read_peer(tool, file)), answered - self.LEFT_OUT.get((tool, file), 0))

    # Of a row that one side alone predicts nothing is counted.
    def test_same_rows_on_both_sides(self):
        ours = [prediction("a", 1, 1.5, line=line) for line in (2, 3)]
        theirs = {("file", 3): (None, None, 1.2), ("file", 4): (None, None, 9)}
        mine, other = scores.on_same_rows(ours, theirs)
        self.assertEqual([(p.line, p.predicted[2]) for p in mine], [(3, 1.5)])
        self.assertEqual([(p.line, p.predicted[2]) for p in other], [(3, 1.2)])


if __name__ == "__main__":
    unittest.main()
