"""Finds small faults that no test notices: plants the faults of faults.txt in a copy of the tree, builds the tests of
the copy once and runs them against each fault (README.md).

    tests/mutation/run [--area AREA] [--only N,M] [--jobs 2] [--list] [--check-patterns [--source DIR]]
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from faults import check_list, plant_all, read_faults  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "mutation"
COPY = WORK / "source"
BUILD = COPY / "build" / "release"

ROOMS = ("base", "scenario", "step", "phases", "serving", "methods", "search", "fit")
LEAST_OF_ALL, LEAST_OF_AREA = 0.9, 0.8
BASELINE_TIMEOUT = 600
FAILED = re.compile(r"^\[  FAILED  \] ([\w./]+)", re.MULTILINE)
RUNNING = re.compile(r"^\[ RUN      \] ([\w./]+)", re.MULTILINE)


@dataclass
class Outcome:
    """What one run of a test binary, or one fault, came to. No test is named where none failed."""

    test: str = ""
    binary: str = ""
    seconds: float = 0


def binaries_for(file):
    """The test binaries that may notice a fault of this file, the likeliest first."""
    room = file.split("/")[1]
    if file.startswith("estimator/"):
        rooms = [room] + [other for other in ROOMS if other != room]
        return [f"estimator/estimator_{name}_test" for name in rooms] + ["rpc/rpc_test"]
    if file.startswith("server/catalog/"):
        return ["catalog/catalog_test", "rpc/rpc_test"]
    if file.startswith("server/"):
        return ["rpc/rpc_test", "catalog/catalog_test"]
    return ["client/client_cli_test"] if room == "cli" else ["client/client_library_test", "client/client_cli_test"]


def files_of_tree():
    """Tracked files, and new ones that git does not ignore."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout
    return sorted(name for name in set(listed.split("\0")) if name and (ROOT / name).is_file())


def write_copy(texts):
    """Brings the copy up to date; a file that is as it was keeps its time, so that it is not compiled again."""
    files = files_of_tree()
    for name in files:
        content = texts[name].encode() if name in texts else (ROOT / name).read_bytes()
        target = COPY / name
        if target.is_file() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod((ROOT / name).stat().st_mode)
    kept = set(files)
    for path in [path for path in COPY.rglob("*") if path.is_file() and BUILD not in path.parents]:
        if path.relative_to(COPY).as_posix() not in kept:
            path.unlink()


def build(binaries, jobs):
    """Builds the test binaries of the copy."""
    subprocess.run(["cmake", "--preset", "release", "-DFORETOKEN_TESTS=ON"], cwd=COPY, check=True,
                   stdout=subprocess.DEVNULL)
    targets = [Path(binary).name for binary in binaries]
    command = ["cmake", "--build", str(BUILD), "--parallel", str(jobs), "--target", *targets]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit("the copy with its faults does not compile")


def output_of(command, environment, timeout):
    """(exit code, output); no code where the time was over. Ends what the command left running."""
    process = subprocess.Popen(command, env=environment, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        code = None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return code, output.decode(errors="replace")


def run_binary(binary, fault_number, timeout):
    """Runs one binary up to its first failing test. A crash or a hang is a failure of the test that ran."""
    environment = {**os.environ, "FORETOKEN_FAULT": str(fault_number)}
    begin = time.monotonic()
    code, output = output_of([str(BUILD / "tests" / binary), "--gtest_fail_fast", "--gtest_color=no"], environment,
                             timeout)
    outcome = Outcome(binary=Path(binary).name, seconds=time.monotonic() - begin)
    if code == 0:
        return outcome
    failed, running = FAILED.search(output), RUNNING.findall(output)
    if failed:
        outcome.test = failed.group(1)
    else:
        outcome.test = (running[-1] if running else "before any test") + (" (hang)" if code is None else " (crash)")
    return outcome


def run_baseline(binaries):
    """{binary: seconds} without a fault; ends the program where a test fails without one."""
    times = {}
    for binary in binaries:
        outcome = run_binary(binary, 0, BASELINE_TIMEOUT)
        if outcome.test:
            sys.exit(f"without a fault {outcome.test} of {outcome.binary} fails: mend that first")
        times[binary] = outcome.seconds
        print(f"without a fault {outcome.binary} passes in {outcome.seconds:.1f} s", flush=True)
    return times


def run_fault(fault, times):
    """The first test that notices the fault."""
    seconds = 0
    for binary in binaries_for(fault.file):
        outcome = run_binary(binary, fault.number, 30 + 5 * times[binary])
        seconds += outcome.seconds
        if outcome.test:
            return Outcome(outcome.test, outcome.binary, seconds)
    return Outcome(seconds=seconds)


def line_of(fault, outcome):
    """One line of the report."""
    if outcome.test:
        stale = "  NOT A SURVIVOR: delete its known" if fault.known else ""
        return f"{fault}: caught by {outcome.test} in {outcome.seconds:.1f} s{stale}"
    return f"{fault}: SURVIVED{f', known: {fault.known}' if fault.known else ''}"


def share_line(name, faults, caught, least):
    """(line of the table, whether the bound is kept)."""
    share = caught / faults if faults else 1
    kept = share >= least
    return f"{name:16} {faults:6} {caught:6} {share:7.0%}   at least {least:.0%}{'' if kept else '  MISSED'}", kept


def summarise(faults, outcomes, problems, say):
    """Prints the table of areas; whether all bounds are kept and every fault was planted."""
    say(f"\n{'area':16} {'faults':>6} {'caught':>6} {'share':>7}")
    good = not problems
    run = [fault for fault in faults if fault.number in outcomes]
    for area in dict.fromkeys(fault.area for fault in run):
        of_area = [outcomes[fault.number] for fault in run if fault.area == area]
        line, kept = share_line(area, len(of_area), sum(bool(one.test) for one in of_area), LEAST_OF_AREA)
        good = good and kept
        say(line)
    line, kept = share_line("all", len(run), sum(bool(outcomes[fault.number].test) for fault in run), LEAST_OF_ALL)
    say(line)
    return good and kept


def run_all(faults, problems, jobs):
    """Builds, runs and reports; the exit code."""
    planted = [fault for fault in faults if fault.number not in problems]
    binaries = list(dict.fromkeys(binary for fault in planted for binary in binaries_for(fault.file)))
    build(binaries, jobs)
    with open(WORK / "report.txt", "w", encoding="utf-8") as report:
        def say(line):
            print(line, flush=True)
            print(line, file=report, flush=True)

        times = run_baseline(binaries)
        outcomes = {}
        with ThreadPoolExecutor(jobs) as pool:
            for fault, outcome in zip(planted, pool.map(lambda fault: run_fault(fault, times), planted)):
                outcomes[fault.number] = outcome
                say(line_of(fault, outcome))
        tell_problems(faults, problems, say)
        return 0 if summarise(faults, outcomes, problems, say) else 1


def tell_problems(faults, problems, say):
    """One line for each fault that could not be planted."""
    for fault in faults:
        if fault.number in problems:
            say(f"{fault}: NOT PLANTED: {problems[fault.number]}")


def chosen(faults, arguments):
    """The faults that the arguments name; all of them without --area and --only."""
    numbers = {int(number) for number in arguments.only.split(",")} if arguments.only else None
    return [fault for fault in faults
            if (numbers is None or fault.number in numbers) and arguments.area in (None, fault.area)]


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", help="the faults of this area alone")
    parser.add_argument("--only", metavar="N,M", help="these faults alone")
    parser.add_argument("--jobs", type=int, default=2, help="compilers, then faults, at once (2)")
    parser.add_argument("--list", action="store_true", help="print the faults and end")
    parser.add_argument("--check-patterns", action="store_true", help="look for every fault's place and end")
    parser.add_argument("--source", type=Path, default=ROOT, help="with --check-patterns: the tree to look in")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    everything = read_faults(Path(__file__).parent / "faults.txt")
    if wrong := check_list(everything):
        sys.exit("faults.txt: " + "\n".join(wrong))
    faults = chosen(everything, arguments)
    if arguments.list:
        for fault in faults:
            print(f"{fault.area}: {fault}{f' known: {fault.known}' if fault.known else ''}")
        return 0
    texts, problems = plant_all(arguments.source.resolve(), everything)
    problems = {number: why for number, why in problems.items() if number in {fault.number for fault in faults}}
    if arguments.check_patterns:
        tell_problems(faults, problems, print)
        print(f"{len(faults) - len(problems)} of {len(faults)} faults have their place")
        return 1 if problems else 0
    write_copy(texts)
    return run_all(faults, problems, arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
