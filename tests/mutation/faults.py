"""Reads tests/mutation/faults.txt and plants its faults in the text of a source file."""

import os
import re
from dataclasses import dataclass

PART = re.compile(r"^(.*?)@\((.*)\)@(.*)$")


@dataclass
class Fault:
    """One small fault: where it is, and what a hurried engineer would have written there."""

    number: int
    text: str
    area: str
    file: str = ""
    form: str = "expression"
    find: str = ""
    replace: str = ""
    known: str = ""

    def __str__(self):
        return f"{self.number} {self.text} ({self.file})"


def read_faults(path):
    """The faults of the list, in its order; faults.txt says in its first lines how it is written."""
    faults, area = [], ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.strip().partition(" ")
        if word == "area":
            area = rest
        elif word.isdigit():
            faults.append(Fault(int(word), rest, area))
        elif word in ("file", "form", "find", "replace", "known"):
            setattr(faults[-1], word, rest)
        else:
            raise ValueError(f"{path.name}:{number}: starts with {word}, which is no field")
    return faults


def pattern_of(text):
    """A pattern for code that may have been reflowed since: white space between its tokens may be any."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    pattern = ""
    for before, token in zip([""] + tokens, tokens):
        words = re.match(r"\w", before) and re.match(r"\w", token)
        pattern += (r"\s+" if words else r"\s*" if before else "") + re.escape(token)
    first, last = (re.match(r"\w", token) for token in (tokens[0], tokens[-1])) if tokens else (None, None)
    return (r"(?<!\w)" if first else "") + pattern + (r"(?!\w)" if last else "")  # whole words


def places_of(find, source):
    """(begin, end) of every place that `find` names: all of it, or its part between @( and )@."""
    part = PART.match(find)
    before, middle, after = (pattern_of(text) for text in (part.groups() if part else ("", find, "")))
    pattern = rf"{before}\s*(?P<middle>{middle})\s*{after}"
    return [match.span("middle") for match in re.finditer(pattern, source)]


def planted(original, faults):
    """The code for one place with all of its faults."""
    chosen = [(f"::foretoken::mutation::Has({fault.number})", fault.replace) for fault in faults]
    if {fault.form for fault in faults} == {"expression"}:
        return f"({''.join(f'{has} ? ({replace}) : ' for has, replace in chosen)}({original}))"
    return f"{{ {''.join(f'if ({has}) {{ {replace} }} else ' for has, replace in chosen)}{{ {original} }} }}"


def by_place(faults, source, problems):
    """{place: its faults}; what cannot be planted goes to `problems`, {fault number: why}."""
    places = {}
    for fault in faults:
        found = places_of(fault.find, source)
        if len(found) != 1:
            problems[fault.number] = f"its pattern is found {len(found)} times"
            continue
        begin, end = found[0]
        others = [place for place in places if place != (begin, end) and place[0] < end and begin < place[1]]
        if others:
            problems[fault.number] = f"its place overlaps that of fault {places[others[0]][0].number}"
        else:
            places.setdefault((begin, end), []).append(fault)
    return places


def plant(file, source, faults, problems):
    """The text of `file` with its faults in it."""
    places = by_place(faults, source, problems)
    for begin, end in sorted(places, reverse=True):
        source = source[:begin] + planted(source[begin:end], places[begin, end]) + source[end:]
    header = os.path.relpath("tests/mutation/fault.h", os.path.dirname(file))
    return f'#include "{header}"\n{source}' if places else source


def plant_all(root, faults):
    """({file: its text with faults}, {fault number: why it could not be planted})."""
    texts, problems = {}, {}
    for file in sorted({fault.file for fault in faults}):
        in_file = [fault for fault in faults if fault.file == file]
        if (root / file).is_file():
            texts[file] = plant(file, (root / file).read_text(encoding="utf-8"), in_file, problems)
        else:
            problems.update({fault.number: "its file is not there" for fault in in_file})
    return texts, problems


def check_list(faults):
    """What is wrong with the list itself."""
    wrong = []
    numbers = [fault.number for fault in faults]
    wrong += [f"{number}: two faults have this number" for number in sorted(set(numbers)) if numbers.count(number) > 1]
    for fault in faults:
        if fault.form not in ("expression", "statement"):
            wrong.append(f"{fault.number}: form {fault.form}; allowed: expression, statement")
        if not fault.file or not fault.find:
            wrong.append(f"{fault.number}: needs a file and a find")
    return wrong
