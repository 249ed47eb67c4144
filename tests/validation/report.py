"""Writes the documents that show figures: docs/validation.md, and the accuracy part of README.md.

    report.py    # writes both from docs/validation/*.csv, which `calibrate` and figures.py write

The text is in templates/. Where it has {{name arguments}}, the function `name` of PLACEHOLDERS puts a figure or a
table. So no figure is typed by hand, and integration.docs notices a document that does not show the figures.
"""

import csv
import os
import re
import shlex
import textwrap

import scores
from figures import FILTERS, STUDY, WHOLE_ONLY

ROOT = os.path.dirname(os.path.dirname(scores.FOLDER))
BLOCK = re.compile(r"(?<=<!-- accuracy: written by tests/validation/report.py -->\n).*(?=<!-- end of accuracy -->\n)",
                   re.S)
PLACEHOLDER = re.compile(r"{{(.*?)}}", re.S)

CASES = {  # in the order of the page: what the fits had not seen
    "rows_left_out": "a fifth of the measurements",
    "model_left_out": "the model",
    "hardware_left_out": "the GPU; the engine is known from others",
    "five_samples": "the GPU; then five of its measurements are registered",
    "generic_left_out": "the GPU and the engine",
    "generic_hardware_left_out": "the GPU; the engine is known from others",
    "generic_served_left_out": "the GPU and the engine",
    "generic": "nothing: the generic prior as it ships",
    "held_out": "these measurements: the generic prior as it ships",
}
LOOKUP = {  # what answers for a new model on a measured GPU and engine; the first case that has the measurements
    "model_left_out": "calibration",
    "hardware_left_out": "engine on other GPUs",
    "generic_left_out": "generic prior",
    "generic_served_left_out": "generic prior",
    "held_out": "generic prior",
}
TOOLS = {"aiconfigurator": "aiconfigurator 0.12.0", "genz": "GenZ 0.0.16", "aisimulate": "AISimulate 0.13.0"}
README_PEERS = {  # the rows of README.md, and what each is called there
    ("argonne", "aiconfigurator"): "Argonne: one batch, A100 and H100",
    ("argonne", "genz"): "Argonne: one batch, also MI300X",
    ("tensorrt_llm", "aiconfigurator"): "TensorRT-LLM: one batch",
    ("splitwise_a100", "aiconfigurator"): "Splitwise: one batch, vLLM of 2023",
    ("served_closed_loop", "aiconfigurator"): "Constant concurrency",
    ("served_closed_loop", "aisimulate"): "Constant concurrency, a sample",
}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def rows_of(name):
    return list(csv.DictReader(read(STUDY, name).splitlines()))


FIGURES = rows_of("figures.csv")


def table(header, rows):
    lines = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def percent(value):
    return f"{value}%" if value else "-"


def errors(row):
    return [percent(row[f"{metric}_error_percent"]) for metric in scores.METRICS]


def load(row):
    """How the requests came, in the reader's words."""
    if row["serving"] != "closed loop":
        return {"static": "one batch"}.get(row["serving"], row["serving"])
    return "maximum load" if row["case"] == "held_out" else "constant concurrency"


def by(row):
    """The columns of a line of figures.csv that are not blank (any)."""
    return tuple(name for name in FILTERS if row[name])


def line(case, serving, *filters):
    wanted = {"case": case, "serving": serving, **dict.fromkeys(FILTERS, ""), **dict(f.split("=") for f in filters)}
    return next(row for row in FIGURES if wanted.items() <= row.items())


def error(case, serving, metric, *filters):
    return percent(line(case, serving, *filters)[f"{metric}_error_percent"])


def refused(case, serving):
    return line(case, serving)["refused"]


def coverage(case, metric):
    return next(percent(row["coverage_percent"]) for row in rows_of("bands.csv")
                if (row["case"], row["metric"]) == (case, metric))


def measurements(case, *serving):
    """How many, of one way to serve or of all."""
    rows = [row for row in FIGURES if row["case"] == case and not by(row)]
    return f"{sum(int(row['measurements']) for row in rows if not serving or row['serving'] in serving):,}"


def lookup_table():
    found = {}
    for case in LOOKUP:
        for row in FIGURES:
            if row["case"] == case and by(row) == FILTERS:
                found.setdefault((*(row[name] for name in FILTERS), load(row)), row)
    return table(["GPU", "engine", "model", "load", "TTFT", "TPOT", "E2E", "measurements", "answered by"],
                 ([*key, *errors(row), row["measurements"], LOOKUP[row["case"]]]
                  for key, row in sorted(found.items())))


def case_table():
    rows = (row for case in CASES for row in FIGURES if row["case"] == case
            and (not by(row) or (by(row) == ("kind",) and row["serving"] == "closed loop")))
    return table(["what the fits had not seen", "load", "model", "TTFT", "TPOT", "E2E", "measurements"],
                 ([CASES[row["case"]], load(row), row["kind"] or "any", *errors(row), row["measurements"]]
                  for row in rows))


def peer_line(name, row):
    pairs = [[percent(row[f"{metric}_{side}_error_percent"]) for side in ("foretoken", "other")]
             for metric in scores.METRICS]
    return [name, TOOLS[row["tool"]], *(" / ".join(pair) if "-" not in pair else "-" for pair in pairs),
            f"{int(row['measurements']):,}", f"{int(row['not_answered']):,}"]


PEER_HEADER = ["measurements", "other tool", "TTFT", "TPOT", "E2E", "rows", "not answered"]


def peer_table():
    return table(PEER_HEADER, (peer_line(row["file"], row) for row in rows_of("peers.csv")))


def readme_peer_table():
    rows = {(row["file"], row["tool"]): row for row in rows_of("peers.csv")}
    return table(PEER_HEADER, (peer_line(name, rows[key]) for key, name in README_PEERS.items()))


def band_table():
    def cell(row):
        return f"{percent(row['coverage_percent'])}, {row['low']} to {row['high']}" if row["low"] else "none ships"

    cells = {(row["case"], row["metric"]): cell(row) for row in rows_of("bands.csv")}
    cases = dict.fromkeys(case for case, _ in cells)
    return table(["what the fits had not seen", "load", "TTFT", "TPOT", "E2E"],
                 ([CASES[case], "constant concurrency" if "served" in case else "one batch",
                   *(cells[case, metric] for metric in scores.METRICS)] for case in cases))


def reliability_table():
    """A line a case and metric, with a cell for each fifth of the probabilities."""
    rows = {}
    for row in rows_of("reliability.csv"):
        fifth = min(4, int(float(row["probability_percent"]) // 20))
        rows.setdefault((row["case"], row["metric"]), ["-"] * 5)[fifth] = (
            f"{percent(row['probability_percent'])} / {percent(row['met_percent'])}")
    return table(["what the fits had not seen", "load", "metric", "to 20%", "to 40%", "to 60%", "to 80%", "to 100%"],
                 ([CASES[case], "constant concurrency" if "served" in case else "one batch", metric.upper(), *cells]
                  for (case, metric), cells in rows.items()))


def kernel_table():
    """By format: the mean over GPUs and engines."""
    formats = {}
    for row in rows_of("kernels.csv"):
        formats.setdefault(row["format"], []).append(row)
    def mean(rows, column):
        return f"{sum(float(row[column]) for row in rows) / len(rows):.1f}%"
    return table(["kernels of routed experts", "fitted", "GPU left out", "GPUs and engines", "kernels"],
                 ([name, mean(rows, "in_sample_percent"), mean(rows, "device_left_out_percent"), len(rows),
                   f"{sum(int(row['rows']) for row in rows):,}"]
                  for name, rows in [*formats.items(), ("all", [row for rows in formats.values() for row in rows])]))


def prior_table():
    rows = rows_of("priors.csv")
    return table([name.replace("_", " ") for name in rows[0]], (row.values() for row in rows))


def rejected():
    return "\n".join(f"- {line}" for line in read(STUDY, "rejected.txt").splitlines())


def detail_table(case, column):
    def cells(row):
        return [f"{row[f'{metric}_error_percent']}%, x{row[f'{metric}_ratio']}" if row[f"{metric}_ratio"] else "-"
                for metric in scores.METRICS]

    rows = (row for row in FIGURES if row["case"] == case and by(row) == (column,))
    return table([column, "load", "TTFT", "TPOT", "E2E"],
                 sorted([row[column], load(row), *cells(row)] for row in rows))


def plots(case):
    files = [f"{case}_{metric}.svg" for metric in scores.METRICS]
    return [f"![{CASES[case]}](validation/{file})" for file in files if os.path.exists(os.path.join(STUDY, file))]


def details():
    parts = []
    for case in CASES:
        if case not in WHOLE_ONLY:
            served = next(row for row in FIGURES if row["case"] == case)["serving"] != "static"
            parts += [f"### Not seen: {CASES[case]}{', continuous batching' if served else ''}",
                      detail_table(case, "hardware"), detail_table(case, "engine"), "\n".join(plots(case))]
    return "\n\n".join(parts)


PLACEHOLDERS = {function.__name__: function for function in (
    error, refused, coverage, measurements, lookup_table, case_table, peer_table, readme_peer_table, band_table, reliability_table,
    kernel_table, prior_table, rejected, details)}


def value(placeholder):
    name, *arguments = shlex.split(placeholder.group(1))
    return PLACEHOLDERS[name](*arguments)


def fill_paragraph(text):
    """Prose is wrapped anew, because a figure is shorter than its placeholder."""
    filled = PLACEHOLDER.sub(value, text)
    is_prose = filled != text and not text.startswith(("{{", "|"))
    return textwrap.fill(filled, 120, break_long_words=False, break_on_hyphens=False) if is_prose else filled


def fill(template):
    text = read(scores.FOLDER, "templates", template).rstrip("\n")
    return "\n\n".join(fill_paragraph(paragraph) for paragraph in text.split("\n\n")) + "\n"


def documents():
    """{path: the text that it should have}."""
    accuracy = fill("accuracy.md")
    return {"docs/validation.md": fill("validation.md"),
            "README.md": BLOCK.sub(lambda _: accuracy, read(ROOT, "README.md"))}


if __name__ == "__main__":
    for document, text in documents().items():
        with open(os.path.join(ROOT, document), "w", encoding="utf-8") as file:
            file.write(text)
