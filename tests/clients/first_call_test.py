"""What docs/first-call.md says of Python and C++ is true, with what Debian has: no registry is asked, and Python is
Debian's, with the wheel unpacked. tests/clients/run follows the whole page."""

import os
import unittest

import first_call

HERE = {
    "Python": {"skip": "python3 -m venv|venv/bin/pip",
               "replace": [("venv/bin/python", f"PYTHONPATH={os.environ['PYTHONPATH']} /usr/bin/python3")]},
    "C++": {},
    "C++ without a server": {},
}


class FirstCall(unittest.TestCase):
    def test_page(self):
        sections = first_call.sections()
        for name, stand_ins in HERE.items():
            with self.subTest(name):
                _, differences = first_call.follow(name, sections[name], **stand_ins)
                self.assertEqual(differences, [], "tests/clients/first_call.py --update writes it anew")

    def test_every_language_answers_the_same(self):
        page = first_call.page()
        answers = {line for line in page.splitlines() if line.startswith("TTFT ")}
        self.assertEqual(len(answers), 1)
        self.assertEqual(page.count(answers.pop()), 5)

    def test_a_page_that_is_wrong_is_found(self):
        for text, wanted in (("```\n$ echo 1\n2\n```\n", "prints:\n1"), ("```\n$ false\n```\n", "ends with 1"),
                             ("`x.txt` is there already:\n\n```text\nb\n```\n", "x.txt is not as the page shows it")):
            with self.subTest(text):
                _, differences = first_call.follow("", "```\n$ echo a > x.txt\n```\n\n" + text)
                self.assertEqual(len(differences), 1)
                self.assertIn(wanted, differences[0])


if __name__ == "__main__":
    unittest.main()
