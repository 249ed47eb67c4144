#!/usr/bin/env python3
"""Measures the structure of the code: functions, files, folders, and which room includes which.

    tests/house/structure.py            prints the table
    tests/house/structure.py --tree DIR the same for another checkout

A unit is a header with its source. A room is a folder. tests/house/structure_test.py holds the limits.
"""

import argparse
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Rooms from the ground up: a room includes itself and the rooms before it. "" is the folder of the area itself.
ORDER = {
    "estimator": ("base", "scenario", "step", "phases", "serving", "simulation", "methods", "search", "fit"),
    "server/catalog": ("spec", "store", "entries", ""),
    "server/rpc": ("wire", "estimate", "sweep", "solve", "simulate", "register", "catalog", ""),
    "client/cli": ("terminal", "text", "scenario", "huggingface", "validation", "import", "profile", "entries", "commands", ""),
}
PRODUCT = ("text", "estimator", "server", "client", "local")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def code_files(root, areas, suffixes=(".h", ".cc")):
    """Paths below `root`, as text, of the sources in `areas`."""
    return sorted(path.relative_to(root).as_posix() for area in areas for path in (root / area).rglob("*")
                  if path.suffix in suffixes)


def includes_of(text):
    return INCLUDE.findall(text)


def room_of(path):
    """(area, room) of a source; None outside the ordered areas."""
    for area in sorted(ORDER, key=len, reverse=True):
        if path.startswith(area + "/"):
            rest = path[len(area) + 1:]
            return area, rest.split("/")[0] if "/" in rest else ""
    return None


def step_up(path, included):
    """What is wrong with an include that goes up to a later room; None where nothing is."""
    of, to = room_of(path), room_of(included)
    if of is None or to is None or of[0] != to[0]:
        return None
    for place, name in ((of, path), (to, included)):
        if place[1] not in ORDER[place[0]]:
            return f"{name}: {place[0]} has no room {place[1] or 'of its own folder'}"
    rooms = ORDER[of[0]]
    if rooms.index(to[1]) > rooms.index(of[1]):
        return f"{path}: room {of[1]} may not include {included}, because {to[1]} comes after it"
    return None


def unit_of(path):
    return re.sub(r"\.(h|cc)$", "", path)


def unit_graph(root, files):
    """Unit -> units that it includes."""
    graph = defaultdict(set)
    for path in files:
        for included in includes_of((root / path).read_text(encoding="utf-8")):
            if (root / included).exists() and unit_of(included) != unit_of(path):
                graph[unit_of(path)].add(unit_of(included))
    return graph


def cycles(graph):
    """Sets of more than one unit that reach each other, largest first (Kosaraju, without recursion)."""
    nodes = set(graph) | {to for targets in graph.values() for to in targets}

    def walk(start, edges, seen):
        stack, order = [(start, iter(sorted(edges.get(start, ()))))], []
        seen.add(start)
        while stack:
            node, rest = stack[-1]
            following = next((to for to in rest if to not in seen), None)
            if following is None:
                order.append(stack.pop()[0])
            else:
                seen.add(following)
                stack.append((following, iter(sorted(edges.get(following, ())))))
        return order

    seen, finished = set(), []
    for node in sorted(nodes):
        if node not in seen:
            finished += walk(node, graph, seen)
    backwards = defaultdict(set)
    for node, targets in graph.items():
        for to in targets:
            backwards[to].add(node)
    seen, found = set(), []
    for node in reversed(finished):
        if node not in seen:
            found.append(set(walk(node, backwards, seen)))
    return sorted((group for group in found if len(group) > 1), key=len, reverse=True)


def function_lines(root, files):
    """(lines, path, line, name) of every function, by Universal Ctags."""
    found = subprocess.run(
        ["ctags", "-L", "-", "--languages=C++", "--kinds-C++=f", "--fields=+ne", "-f", "-"], cwd=root,
        input="\n".join(files), capture_output=True, text=True, check=True).stdout
    functions = []
    for row in found.splitlines():
        start, end = re.search(r"\tline:(\d+)", row), re.search(r"\tend:(\d+)", row)
        if start and end:
            name, path = row.split("\t")[:2]
            functions.append((int(end.group(1)) - int(start.group(1)) + 1, path, int(start.group(1)), name))
    return sorted(functions, reverse=True)


def files_a_folder(root, areas, suffixes=(".h", ".cc", ".py", ".proto")):
    """Folder -> sources in it, catalog entries and data apart."""
    return Counter(str(Path(path).parent) for path in code_files(root, areas, suffixes))


def share(values, part):
    """The value at `part` of the sorted values."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def table(root):
    """Rows (name, figure) of the structure."""
    files = code_files(root, PRODUCT)
    functions = [lines for lines, *_ in function_lines(root, files)]
    lengths = {path: (root / path).read_text(encoding="utf-8").count("\n") for path in files}
    longest = max(lengths, key=lengths.get)
    folder, most = files_a_folder(root, PRODUCT + ("proto", "tests")).most_common(1)[0]
    groups = cycles(unit_graph(root, files))
    ups = [fault for path in files for included in includes_of((root / path).read_text(encoding="utf-8"))
           if (fault := step_up(path, included))]
    return [
        ("functions", f"{len(functions)}"),
        ("lines of a function: median, 90%, longest",
         f"{share(functions, 0.5)}, {share(functions, 0.9)}, {max(functions)}"),
        ("functions over 50 lines", f"{sum(lines > 50 for lines in functions)}"),
        ("sources", f"{len(files)}"),
        ("lines of a source: median, longest", f"{share(lengths.values(), 0.5)}, {lengths[longest]} ({longest})"),
        ("most sources in a folder", f"{most} ({folder})"),
        ("units in the largest include cycle", f"{len(groups[0]) if groups else 1}"),
        ("include cycles of more than a pair", f"{sum(len(group) > 2 for group in groups)}"),
        ("includes that go up to a later room", f"{len(ups)}"),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, default=ROOT)
    for name, figure in table(parser.parse_args().tree.resolve()):
        print(f"{name:45} {figure}")


if __name__ == "__main__":
    main()
