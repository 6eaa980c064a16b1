"""Compares a case's outcome with a list of exceptions."""

import collections

import pytest


class Verdicts:
    """Counts of one mode, and the list of cases that may fail with the reason for each."""

    def __init__(self, exceptions, list_name):
        self.exceptions = exceptions
        self.list_name = list_name
        self.counts = collections.Counter()

    def settle(self, case, why):
        """`why` is empty when the case passed. A case fails the test when list and outcome disagree."""
        listed = case.name in self.exceptions
        self.counts[case.kind, "passed" if not why else "listed" if listed else "failed"] += 1
        if why and not listed:
            pytest.fail(f"{case.name}: {why}", pytrace=False)
        if listed and not why:
            pytest.fail(f"{case.name} passes now: take it off {self.list_name}", pytrace=False)

    def unknown_names(self, cases):
        return set(self.exceptions) - {case.name for case in cases}

    def report(self, title):
        print(
            f"\n{title}: "
            + ", ".join(f"{kind} {what} {count}" for (kind, what), count in sorted(self.counts.items()))
        )
