"""Runs the tests of a program in namespaces of their own, and prints results as GoogleTest does (README.md)."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import pods

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "basalt-plugins"

_UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# "yes" if this program runs in namespaces of its own, else the reason why it has none.
_INSIDE = "BASALT_PLUGINS_INSIDE"


class TestCase(unittest.TestCase):
    """A test that is skipped if a program or wheel that it needs is missing."""

    programs = ()
    wheels = ""  # The folder of CACHE with the wheels.

    def setUp(self):
        inside = os.environ[_INSIDE]
        if inside != "yes":
            self.skipTest(inside)
        for program in self.programs:
            self.need(program)
        if self.wheels and not (CACHE / self.wheels / "complete").exists():
            self.skipTest(f"{CACHE / self.wheels} is not complete: tests/plugins/programs.sh makes it")

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"there is no {program}: scripts/packages.txt names what has it")


class _Result(unittest.TestResult):
    """Prints the lines from which scripts/test reads the skipped tests, each after a line with the reason."""

    @staticmethod
    def _name(test):
        return ".".join(test.id().split(".")[-2:])

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()
        print(f"[ RUN      ] {self._name(test)}", flush=True)

    def _end(self, word, test):
        print(f"[{word}] {self._name(test)} ({(time.monotonic() - self._begin) * 1000:.0f} ms)", flush=True)

    def addSuccess(self, test):
        self._end("       OK ", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(reason)
        self._end("  SKIPPED ", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        print(self.failures[-1][1])
        self._end("  FAILED  ", test)

    def addError(self, test, error):
        super().addError(test, error)
        print(self.errors[-1][1])
        self._end("  FAILED  ", test)


def _obstacle():
    """Returns why this machine cannot have pods, or "" if it can."""
    if os.geteuid() != 0:
        return "only root makes namespaces with a network"
    for program in ("unshare", "nsenter", "pivot_root", "ip"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    done = subprocess.run(pods.UNSHARE + ["sh", "-c", pods.PROBE], capture_output=True, text=True, timeout=30)
    return "" if done.returncode == 0 else f"no namespaces: {' '.join(done.stderr.split())}"


def _stop(*_):
    raise KeyboardInterrupt


def main():
    """Runs the tests of the program, or only those that its arguments name."""
    if "BASALTCTL" not in os.environ:
        sys.exit("BASALTCTL has to name the program basaltctl")
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{pods.PATH}"
    # Users of pods must be able to read the files.
    os.umask(0o022)
    if _INSIDE not in os.environ:
        obstacle = _obstacle()
        os.environ[_INSIDE] = obstacle or "yes"
        if not obstacle:
            os.execvp("unshare", _UNSHARE + [sys.executable, "-B", *sys.argv])
    elif os.environ[_INSIDE] == "yes":
        # The first process of a namespace ignores every signal that it does not handle.
        signal.signal(signal.SIGTERM, _stop)
        pods.prepare()
    module = sys.modules["__main__"]
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(sys.argv[1:], module) if sys.argv[1:] else loader.loadTestsFromModule(module)
    result = _Result()
    suite.run(result)
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun} tests, {len(result.skipped)} skipped, {bad} failed")
    sys.exit(0 if result.testsRun > 0 and result.wasSuccessful() else 1)
