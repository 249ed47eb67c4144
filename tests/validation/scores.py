"""How far predictions are off: those of cross-validation, and those of other tools on the same measurements.

An error is |predicted / measured - 1|. A score is the median error within each group, which is one curve of one source
(file, hardware, engine, model), and the mean over groups, so that a source with many measurements does not outweigh the
others. The same definition as Errors::MacroMedian of errors.h.
"""

import collections
import csv
import dataclasses
import gzip
import math
import os
import statistics

FOLDER = os.path.dirname(os.path.abspath(__file__))
METRICS = ("ttft", "tpot", "e2e")
POOLED = {"five_samples"}  # scored over all measurements alike: each measurement stands in many draws


@dataclasses.dataclass(frozen=True)
class Prediction:
    """One measurement, and what one fit that had not seen it predicts. Times in seconds; None: not known."""
    case: str
    file: str
    line: int
    hardware: str
    engine: str
    model: str
    kind: str
    serving: str
    measured: tuple
    predicted: tuple

    @property
    def group(self):
        return (self.file, self.hardware, self.engine, self.model)

    @property
    def place(self):
        return (self.file, self.line)


@dataclasses.dataclass(frozen=True)
class Score:
    """Of one metric: error in percent, geometric mean of measured / predicted, and the number of groups."""
    error: float
    ratio: float
    groups: int


def seconds(row, prefix):
    return tuple(float(row[f"{prefix}{metric}_s"]) if row[f"{prefix}{metric}_s"] else None for metric in METRICS)


def read_predictions(path):
    with open(path, encoding="utf-8") as file:
        return [Prediction(row["case"], row["file"], int(row["line"]), row["hardware"], row["engine"], row["model"],
                           row["kind"], row["serving"], seconds(row, "measured_"), seconds(row, "predicted_"))
                for row in csv.DictReader(file)]


def score(predictions, metric):
    """None: no prediction has both times of the metric."""
    at = METRICS.index(metric)
    groups = collections.defaultdict(list)
    for p in predictions:
        if p.measured[at] and p.predicted[at]:
            groups["" if p.case in POOLED else p.group].append(p.measured[at] / p.predicted[at])
    if not groups:
        return None
    errors = [statistics.median(abs(1 / ratio - 1) for ratio in ratios) for ratios in groups.values()]
    logs = [statistics.median(math.log(ratio) for ratio in ratios) for ratios in groups.values()]
    return Score(100 * statistics.fmean(errors), math.exp(statistics.fmean(logs)), len(groups))


# The columns by which a measurement is found again. Lines of a file move when a measurement is added.
KEY = ("hardware", "model", "engine", "batch_size", "prompt_tokens", "output_tokens", "ttft_s", "tpot_s", "e2e_s")


def places(file):
    """The (file, line) of each measurement of a file by its KEY."""
    with open(os.path.join(FOLDER, file + ".csv"), encoding="utf-8") as rows:
        reader = csv.DictReader(rows)
        found = {tuple(row[column] for column in KEY): (file, reader.line_num) for row in reader}
        if len(found) != reader.line_num - 1:
            raise ValueError(f"{file}.csv: two measurements have the same key")
    return found


def read_asked():
    """(tool, file, measurements that the tool was asked about, measurements that it answered)."""
    with open(os.path.join(FOLDER, "peers", "asked.csv"), encoding="utf-8") as file:
        return [(row["tool"], row["file"], int(row["asked"]), int(row["answered"])) for row in csv.DictReader(file)]


def read_peer(tool, file):
    """What another tool predicts of the measurements of a file: {place: times}."""
    by_key = places(file)
    with gzip.open(os.path.join(FOLDER, "peers", tool + ".csv.gz"), "rt", encoding="utf-8") as rows:
        return {by_key[tuple(row[column] for column in KEY)]: seconds(row, "predicted_")
                for row in csv.DictReader(rows) if row["file"] == file}


def on_same_rows(ours, theirs):
    """The measurements that both predict: our predictions, and the other tool's in the same form."""
    both = [p for p in ours if p.place in theirs]
    return both, [dataclasses.replace(p, predicted=theirs[p.place]) for p in both]
