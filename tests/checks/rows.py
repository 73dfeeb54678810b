#!/usr/bin/env python3
"""Compares the tables of tests/rows with the rows that the specifications have, with the tests that they name, and with the
weaknesses that are planted for these tests; and docs/coverage.md with the tables. The rules are in tests/rows/README.md.
tests/planted/run.sh checks that a test finds its planted weakness, and scripts/mission runs the tests of the mission."""
import fnmatch
import functools
import itertools
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))
import rows

# The rows that specifications must have, after what they begin with. Letters count the parts of a row that have tests of
# their own. Only those cases of users that have odd numbers are required.
PHASES = "New Pending Running Restarting Completing Terminating Aborting Aborted Completed Terminated Failed"
ACTIONS = "SyncJob AbortJob RestartJob RestartTask RestartPod RestartPartition TerminateJob CompleteJob ResumeJob EnqueueJob"
WANTED = [
    *((f"8.1 {phase} × ", ACTIONS) for phase in PHASES.split()),
    ("8.2 ", "PEND RUN1 RUN2 RUN3a..d RUN4 RUN5 REST1..3 DRAIN"),
    ("1.3 ", "schedulerName minAvailable volumes tasks policies plugins runningEstimate queue maxRetry"),
    ("1.3 ", "ttlSecondsAfterFinished priorityClassName minSuccess networkTopology"),
    ("1.4 ", "name replicas minAvailable template policies topologyPolicy maxRetry dependsOn partitionPolicy"),
    ("1.5 ", "policy.action policy.event policy.events policy.exitCode policy.timeout dependsOn.name dependsOn.iteration"),
    ("1.5 partitionPolicy.", "totalPartitions partitionSize minPartitions networkTopology"),
    ("1.5 ", "networkTopology.mode networkTopology.highestTierAllowed networkTopology.highestTierName"),
    ("1.5 volume.", "mountPath volumeClaimName volumeClaim"),
    ("1.6 ", "state.phase state.reason state.message state.lastTransitionTime minAvailable taskStatusCount pending running"),
    ("1.6 ", "succeeded failed terminating unknown version retryCount runningDuration controlledResources conditions"),
    ("1.2 ", "Y1..4"), ("1.7 ", "Y5..6"), ("1.8 ", "Y7"), ("1.9 ", "E1..12 A1..13"), ("1.10 ", "K1..19 K23"),
    ("2.1 ", "D1..10"), ("2.3 ", "C1..15 C16a..d C17"), ("2.4 ", "P1..8"), ("2.5 ", "V1..5"), ("2.6 ", "U1..5"),
    ("2.7 ", "X1..8"), ("3.2 ", "H10..11"), ("3.3 ", "H1..9"), ("3.4 ", "O1..5"), ("6 ", "Q1..7"), ("7.1 ", "R1"),
    ("9.8 ", "G1..13"), ("9.10 ", "L1..7"), ("9.11 ", "N1..11"), ("10 ", "Z1..10"), ("11.1 ", "I9..11"), ("11.2 ", "I1..8"),
    ("11.4 ", "I12..14"), ("11.5 ", "I15..17"), ("12.2 ", "T1..5"), ("13 ", "M1..5"), ("15.3 ", "Y9"), ("B ", "FNV-1"),
    ("B ", "minResources|quota usage|partition label|restart budget|final phase|Running to Pending|Restarting to Pending"),
    ("B ", "svc keys|conditions|PodGroupPending"),
    ("", "S1..44 W1..34 C1..18"),
    ("PC ", "13.1..4 13.5a..b 13.6..12 W1 W2a..b W3..8 W9a..b W10 W11a..b W12..18 W19a..c W20a..b W21a..d S1..24"),
    ("PG 14.", "1 2a..b 3..4 5a..b 6..8 9a..b 10..12 13a..b 14 15a..b 16..17 18a..b 19 20a..d 21a..c 22..23 24a..b 25..29"),
    ("PG 14.", "30a..b 31 32a..b 33..41 42a..b 43 44a..b 45a..b 46..51 52a..b 53a..b 54..73 74a..b 75..77"),
    ("PG ", "G1..13 G14a..c G15 G16a..b G17..18 G19a..b G20..25 G26a..c G27..29 G30a..b G31a..b G32..36 G37a..k G38"),
    ("PG ", "G39a..c G40..42 G43a..f G44..46 G47a..b G48..55 G56a..c G57a..d G58 G59a..c G60"),
    ("PG 12.", "1a..c 2..3 4a..b 5a..f 6..8 9a..b 10 11a..b 12a..c 13 14a..b 15a..b 16 17a..b 18a..b"),
    ("QC ", "13.1..15 13.16a..n 13.17..18 Q1..15 S1..9 S10a..b"),
    ("UC ", "U9b " + " ".join(f"U{number}" for number in range(1, 74, 2))),
]

complaints = []


def complain(*what):
    complaints.append(": ".join(what))


def items(text):
    """Returns the words of a list: A1..3 is A1, A2 and A3, and 2a..c is 2a, 2b and 2c. Words with spaces have | between them."""
    for word in text.split("|") if "|" in text else text.split():
        span = re.fullmatch(r"(.*?)(?:(\d+)\.\.(\d+)|([a-z])\.\.([a-z]))", word)
        if not span:
            yield word
        elif span[2]:
            yield from (f"{span[1]}{number}" for number in range(int(span[2]), int(span[3]) + 1))
        else:
            yield from (f"{span[1]}{chr(letter)}" for letter in range(ord(span[4]), ord(span[5]) + 1))


def tree(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns], cwd=rows.ROOT,
                            check=True, capture_output=True, text=True).stdout.splitlines()
    return [path for path in dict.fromkeys(listed) if (rows.ROOT / path).exists()]


@functools.cache
def text_of(file):
    path = rows.ROOT / file
    return path.read_text() if path.is_file() else None


@functools.cache
def spaced_text_of(file):
    return " ".join((text_of(file) or "").split())


def has_test(file, name):
    """Returns whether the file has the test. If the parameter contains a *, only the test without it is searched."""
    match = re.fullmatch(r"(?:(?P<prefix>[^.]*)/)?(?P<suite>[^./]*)\.(?P<case>[^/]*)(?:/(?P<param>.*))?", name)
    if not match:
        return False
    text = spaced_text_of(file)
    prefix, suite, case, param = match.groups()
    if not prefix:
        return f"TEST({suite}, {case}) {{" in text or f"TEST_F({suite}, {case}) {{" in text
    return (f"TEST_P({suite}, {case}) {{" in text and bool(param) and ("*" in param or f'"{param}"' in text)
            and re.search(rf"INSTANTIATE_TEST_SUITE_P\( ?{re.escape(prefix)}, {suite},", text) is not None)


def sources_of_tests(lists):
    """Returns the sources of each of ctest's tests, by its name; none of a test that is no test of gtest."""
    sources, commands = {}, []
    for path in lists:
        folder = path.removesuffix("CMakeLists.txt")
        text = " ".join(re.sub(r"#.*", "", text_of(path)).split())
        # The lines between foreach and endforeach are read once for each item.
        text = re.sub(r"foreach\((\w+) IN ITEMS ([^)]*)\)(.*?)endforeach\(",
                      lambda loop: "".join(loop[3].replace(f"${{{loop[1]}}}", item) for item in loop[2].split()), text)
        globs = {f"${{{name}}}": [str(found.relative_to(rows.ROOT)) for found in (rows.ROOT / folder).glob(pattern)]
                 for name, pattern in re.findall(r"file\(GLOB (\w+) [^)]*?([^ )]+)\)", text)}
        for command, arguments in re.findall(r"\b(basalt_test|add_test)\( ?([^)]*)\)", text):
            words = arguments.split()
            if command == "add_test":
                commands.append((words[1], words[3]))  # NAME … COMMAND …
                continue
            files = itertools.takewhile(lambda word: word not in ("DEPS", "LABELS", "TIMEOUT", "ARGS"), words[1:])
            sources[words[0]] = [source for word in files for source in globs.get(word, [folder + word])]
    sources.update({name: sources.get(program, []) for name, program in commands})
    return sources


def check_spec(planted):
    wanted = {before + item for before, text in WANTED for item in items(text)}
    seen, used = set(), set()
    for row in rows.read_rows("spec"):
        where = f"{row.table}: {row.id}"
        if row.id not in wanted:
            complain(where, "this is no row of the specification")
        if row.id in seen:
            complain(where, "the row stands there twice")
        seen.add(row.id)
        if row.place == "open":
            if row.plant != "-":
                complain(where, "the row is open, and yet something is planted for it")
            continue
        test = re.fullmatch(r"([^ ]+_test\.cc) ([^ ]+)", row.test)
        if not test:
            complain(where, f"'{row.test}' is neither a file and a test nor open: and what is missing")
            continue
        if not has_test(test[1], test[2]):
            complain(where, f"there is no test {test[2]} in {test[1]}")
        if not row.planted:
            continue
        used.add(row.plant)
        if row.plant not in planted:
            complain(where, f"'{row.plant}' is neither an entry of tests/planted nor none: and why")
        elif not fnmatch.fnmatchcase(test[2], planted[row.plant].test):
            complain(where, f"the weakness {row.plant} is planted for {planted[row.plant].test}, not for {test[2]}")
    for missing in sorted(wanted - seen):
        complain("tests/rows/spec", f"the row {missing} is missing")
    return used


def check_planted(planted, used, lists):
    programs = set(re.findall(r"\b(?:basalt_test|add_executable)\(\s*([\w-]+)", "\n".join(map(text_of, lists))))
    tests = None
    for id, plant in planted.items():
        where = f"tests/planted: {id}"
        if id.startswith("attack-"):  # No row names these.
            tests = tests or set(re.findall(r"^TEST(?:_F)?\((\w+, \w+)\)", "\n".join(map(text_of, tree("*_test.cc"))), re.M))
            for name in plant.test.split(":"):
                if name.replace(".", ", ") not in tests:
                    complain(where, f"there is no test {name}")
        elif id not in used and not plant.is_seeds:
            complain(where, "no row of tests/rows/spec names it")
        for file, old, new in plant.parts:
            text = text_of(file)
            if text is None:
                complain(where, f"there is no file {file}")
            elif not old:
                complain(where, "it replaces nothing")
            elif text.count(old) != 1:
                complain(where, f"the text stands {text.count(old)} times in {file}")
            if old == new:
                complain(where, "it changes nothing")
        if plant.target not in programs:
            complain(where, f"there is no test target {plant.target}")


def check_mission(lists):
    sources = sources_of_tests(lists)
    number = 0
    for row in rows.read_rows("mission"):
        where = f"{row.table}: {row.id}"
        number += 1
        if row.id != f"M{number}":
            complain(where, f"the row stands where M{number} should")
            number = int(row.id[1:]) if re.fullmatch(r"M\d+", row.id) else number
        if not re.fullmatch(r".+\.", row.text):
            complain(where, "the capability is no sentence")
        if row.place in ("open", "outside"):
            continue
        if not row.shown_by():
            complain(where, f"'{row.test}' is neither tests nor open: nor outside:")
        for test, patterns in row.shown_by():
            if test not in sources:
                complain(where, f"no CMakeLists.txt has a test {test}")
                continue
            if not patterns and sources[test]:
                complain(where, f"{test} is gtest's, and needs a filter")
            for pattern in filter(None, patterns.split(":")):
                if not any(has_test(source, pattern) for source in sources[test]):
                    complain(where, f"{test} has no test {pattern}")


def main():
    lists = tree("*CMakeLists.txt")
    planted = rows.read_planted()
    used = check_spec(planted)
    check_planted(planted, used, lists)
    check_mission(lists)
    print("\n".join(complaints), end="\n" if complaints else "")
    page = subprocess.run([rows.ROOT / "scripts/rows", "--check"])
    sys.exit(1 if complaints or page.returncode else 0)


if __name__ == "__main__":
    main()
