"""Holds the structure of the code to its limits (CONTRIBUTING.md, "Rooms"): sizes, rooms in one order, no cycles."""

import tempfile
import unittest
from pathlib import Path

import structure

ROOT = structure.ROOT
MOST_SOURCES = 30  # of a folder
MOST_LINES = 50    # of a function
USUAL_LINES = 25   # of nine functions in ten
LONGEST_SOURCE = 400


class Structure(unittest.TestCase):
    def setUp(self):
        self.files = structure.code_files(ROOT, structure.PRODUCT)
        self.assertGreater(len(self.files), 300)

    def test_no_folder_has_too_many_sources(self):
        folders = structure.files_a_folder(ROOT, structure.PRODUCT + ("proto", "tests", "deploy"))
        self.assertEqual({folder: count for folder, count in folders.items() if count > MOST_SOURCES}, {})

    def test_functions_and_sources_are_short(self):
        functions = structure.function_lines(ROOT, self.files)
        self.assertGreater(len(functions), 1000)
        self.assertEqual([f for f in functions if f[0] > MOST_LINES], [])
        self.assertLessEqual(structure.share([f[0] for f in functions], 0.9), USUAL_LINES)
        long = [path for path in self.files
                if (ROOT / path).read_text(encoding="utf-8").count("\n") > LONGEST_SOURCE]
        self.assertEqual(long, [])

    def test_rooms_include_only_themselves_and_the_rooms_before(self):
        faults = [fault for path in self.files
                  for included in structure.includes_of((ROOT / path).read_text(encoding="utf-8"))
                  if (fault := structure.step_up(path, included))]
        self.assertEqual(faults, [])

    def test_no_include_cycle_is_larger_than_a_pair(self):
        groups = structure.cycles(structure.unit_graph(ROOT, self.files))
        self.assertEqual([sorted(group) for group in groups if len(group) > 2], [])

    def test_a_room_says_what_it_is_for(self):
        """In a README of at most 15 lines, or in the opening comment of its main header."""
        for area, rooms in structure.ORDER.items():
            for room in rooms:
                folder = ROOT / area / room
                readme = folder / "README.md"
                with self.subTest(folder.relative_to(ROOT).as_posix()):
                    if readme.exists():
                        self.assertLessEqual(readme.read_text(encoding="utf-8").count("\n"), 15)
                        continue
                    said = f"Start of the room {room}/" if room else "Start reading here"
                    openings = [path.read_text(encoding="utf-8").split("#ifndef")[0] for path in folder.glob("*.h")]
                    self.assertTrue(any(said in opening for opening in openings), f"no README, and no header says: {said}")

    def test_functions_of_a_header_live_in_the_source_of_its_name(self):
        for path in self.files:
            if path.endswith(".cc") and (ROOT / path.replace(".cc", ".h")).exists():
                first = structure.includes_of((ROOT / path).read_text(encoding="utf-8"))[:1]
                with self.subTest(path):
                    self.assertEqual(first, [path.replace(".cc", ".h")])


class Rules(unittest.TestCase):
    def test_a_step_up_is_found(self):
        for path, included, wrong in (
                ("estimator/step/a.cc", "estimator/base/units.h", False),
                ("estimator/step/a.cc", "estimator/step/step.h", False),
                ("estimator/step/a.cc", "estimator/serving/served.h", True),
                ("estimator/step/a.cc", "estimator/stray.h", True),
                ("server/rpc/wire/a.cc", "server/rpc/sweep/sweep_plan.h", True),
                ("server/rpc/catalog_service.cc", "server/rpc/sweep/sweep_plan.h", False),
                ("server/rpc/wire/a.cc", "server/catalog/catalog.h", False),
                ("client/cli/text/a.cc", "client/cli/commands/commands.h", True)):
            with self.subTest(f"{path} -> {included}"):
                self.assertEqual(structure.step_up(path, included) is not None, wrong)

    def test_cycles_are_found(self):
        graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
        self.assertEqual(structure.cycles(graph), [{"a", "b", "c"}, {"d", "e"}])

    def test_long_functions_are_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.cc").write_text("int F() {\n" + "  ;\n" * 60 + "  return 1;\n}\n", encoding="utf-8")
            self.assertEqual(structure.function_lines(Path(folder), ["a.cc"]), [(63, "a.cc", 1, "F")])


if __name__ == "__main__":
    unittest.main()
