"""Reads the tables of tests/rows (their form is in tests/rows/README.md) and the planted weaknesses of tests/planted."""
import collections
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders of tests/rows: "spec" has the rows of the specifications, "mission" the capabilities of the project.
COLUMNS = {"spec": ("row", "text", "test", "plant"), "mission": ("row", "text", "shown by")}


@dataclasses.dataclass
class Row:
    table: str  # The file, from the root of the tree.
    title: str  # The first line of the file.
    chapter: str  # The heading above the row, or "".
    id: str
    text: str
    test: str
    plant: str = "-"

    @property
    def place(self):
        """Returns where the row is shown: "open", "outside", "real", "pods", or "sim" for all else."""
        place = re.match(r"(open|outside|real|pods): ", self.test)
        return place[1] if place else "sim"

    @property
    def planted(self):
        return self.plant != "-" and not self.plant.startswith("none: ")

    def shown_by(self):
        """Returns (ctest's name, filter of gtest or "") for each test of a capability; [] if the cell has another form."""
        cell = self.test.removeprefix("real: ").removeprefix("pods: ")
        tests = [re.fullmatch(r"([a-z0-9_]+)(?: ([^ ,]+))?", test) for test in cell.split(", ")]
        return [(test[1], test[2] or "") for test in tests] if all(tests) else []


def read_rows(folder):
    rows = []
    for path in sorted((ROOT / "tests/rows" / folder).glob("*.tsv")):
        table = str(path.relative_to(ROOT))
        title = chapter = ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("## "):
                chapter = line[3:]
            elif line.startswith("#"):
                title = title or line[2:]
            else:
                cells = line.split("\t")
                if len(cells) != len(COLUMNS[folder]) or not all(cells):
                    raise SystemExit(f"error: {table}:{number} has not the columns {', '.join(COLUMNS[folder])}")
                rows.append(Row(table, title, chapter, *cells))
    return rows


@dataclasses.dataclass
class Plant:
    target: str
    test: str
    parts: list = dataclasses.field(default_factory=list)  # [file, text to be replaced, what takes its place]

    @property
    def is_seeds(self):
        return re.fullmatch(r"[0-9]+\.\.[0-9]+", self.test) is not None


def read_planted():
    """Returns the planted weaknesses by id. tests/planted/list.sh says what form an entry has."""
    planted = {}
    plant = None
    for path in sorted((ROOT / "tests/planted").glob("*.txt")):
        for line in path.read_text().splitlines():
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if line[0] in "-+":
                plant.parts[-1][1 if line[0] == "-" else 2].append(line[1:])
            elif len(words) == 2 and words[0] == "and" and plant:
                plant.parts.append([words[1], [], []])
            elif len(words) == 4 and words[0] not in planted:
                plant = planted[words[0]] = Plant(words[2], words[3], [[words[1], [], []]])
            else:
                raise SystemExit(f"error: {path.relative_to(ROOT)}: '{line}' is not ID FILE TARGET TEST, or the ID is there twice")
    for plant in planted.values():
        plant.parts = [(file, "\n".join(old), "\n".join(new)) for file, old, new in plant.parts]
    return planted


def coverage(rows, columns):
    """Returns the lines of a table: all rows, then those of each chapter. columns has, by name, the rows that it counts."""
    chapters = collections.defaultdict(list)
    for row in rows:
        chapters[row.title, row.chapter].append(row)
    lines = ["| document | chapter | rows | " + " | ".join(columns) + " |", "|---|---|" + "---:|" * (len(columns) + 1)]
    last = None
    for (title, chapter), part in [(("all", ""), rows), *chapters.items()]:
        counts = [len(part), *(sum(map(counted, part)) for counted in columns.values())]
        lines.append(f"| {title if title != last else ''} | {chapter} | " + " | ".join(str(count or "–") for count in counts) + " |")
        last = title
    return lines
