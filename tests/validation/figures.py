"""Makes the figures of docs/validation from cross-validated predictions, which `calibrate` writes.

    figures.py PREDICTIONS    # writes docs/validation/figures.csv and docs/validation/peers.csv
"""

import collections
import csv
import itertools
import os
import sys

import scores

STUDY = os.path.join(os.path.dirname(os.path.dirname(scores.FOLDER)), "docs", "validation")
FILTERS = ("hardware", "engine", "kind")
WHOLE_ONLY = ("rows_left_out", "five_samples")  # cases without scores by hardware, engine and kind of model


def write_csv(name, columns, rows):
    with open(os.path.join(STUDY, name), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def subsets(predictions):
    """{(case, serving, hardware, engine, kind): predictions}, for every choice of columns that are blank (any)."""
    found = collections.defaultdict(list)
    for p in predictions:
        masks = [(False,) * len(FILTERS)] if p.case in WHOLE_ONLY else itertools.product((False, True), repeat=3)
        for mask in masks:
            values = ((p.hardware, p.engine, p.kind)[at] if kept else "" for at, kept in enumerate(mask))
            found[(p.case, p.serving, *values)].append(p)
    return found


def score_cells(predictions):
    for metric in scores.METRICS:
        found = scores.score(predictions, metric)
        yield from (f"{found.error:.1f}", f"{found.ratio:.2f}", found.groups) if found else ("", "", "")


def figures(predictions):
    for key, found in sorted(subsets(predictions).items()):
        refused = {p.place for p in found if not any(p.predicted)}
        yield [*key, len({p.place for p in found}), len(refused), *score_cells(found)]


def without_hardware(predictions):
    """Our prediction of each measurement by a fit that had not seen its hardware.

    Where an engine was measured on one device only, leaving the device out leaves the engine out too.
    """
    found = {}
    for case in ("generic_left_out", "generic_hardware_left_out", "hardware_left_out"):
        found.update({p.place: p for p in predictions if p.case == case})
    return found.values()


def peers(predictions):
    ours = without_hardware(predictions)
    for tool, file, asked, answered in scores.read_asked():
        both = scores.on_same_rows(ours, scores.read_peer(tool, file))
        found = (scores.score(side, metric) for metric in scores.METRICS for side in both)
        yield [file, tool, len(both[0]), asked - answered, *(f"{each.error:.1f}" if each else "" for each in found)]


def main(path):
    predictions = scores.read_predictions(path)
    columns = [f"{metric}_{cell}" for metric in scores.METRICS for cell in ("error_percent", "ratio", "groups")]
    write_csv("figures.csv", ["case", "serving", *FILTERS, "measurements", "refused", *columns], figures(predictions))
    columns = [f"{metric}_{side}_error_percent" for metric in scores.METRICS for side in ("foretoken", "other")]
    write_csv("peers.csv", ["file", "tool", "measurements", "not_answered", *columns], peers(predictions))


if __name__ == "__main__":
    main(*sys.argv[1:])
