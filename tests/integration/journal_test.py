"""The checker of histories finds what it is there to find."""

import unittest

from support.journal import Journal, Write


def journal_of(*writes):
    journal = Journal()
    journal.writes = [Write("a", *write, "") for write in writes]
    return journal


class Checker(unittest.TestCase):
    def test_table(self):
        first, second = ("1", "acknowledged", 0, 1), ("2", "acknowledged", 2, 3)
        beside = ("2", "acknowledged", 0.5, 3)
        cases = [  # name, writes, found, fault
            ("what was acknowledged is there", [first], {"a": "1"}, False),
            ("it is lost", [first], {}, True),
            ("it is changed", [first], {"a": "x"}, True),
            ("the last one is there", [first, second], {"a": "2"}, False),
            ("only the first one is", [first, second], {"a": "1"}, True),
            ("of two at once either is good", [first, beside], {"a": "1"}, False),
            ("what was refused is not there", [("1", "refused", 0, 1)], {}, False),
            ("what was refused is there", [("1", "refused", 0, 1)], {"a": "1"}, True),
            ("the unknown is there", [("1", "unknown", 0, 1)], {"a": "1"}, False),
            ("the unknown is not there", [("1", "unknown", 0, 1)], {}, False),
            ("the unknown came late", [("1", "unknown", 0, 1), second], {"a": "1"}, False),
            ("nobody wrote it", [], {"b": "1"}, True),
        ]
        for name, writes, found, fault in cases:
            with self.subTest(name):
                self.assertEqual(bool(journal_of(*writes).faults(found)), fault)


if __name__ == "__main__":
    unittest.main()
