"""What the other tests read traces with refuses those that a viewer would not show right.

Covers: cli/results/ trace.cc trace_file.cc
"""

import copy
import json

import pytest
from cli_models import call, compile_small
from trace_events import read_trace


def row(number, name):
    where = {"pid": 1, "tid": number}
    return [{"name": "thread_name", "ph": "M", **where, "args": {"name": name}}]


def work(number, begin, duration, **more):
    return {"name": "w", "cat": "c", "ph": "X", "ts": begin, "dur": duration, "pid": 1, "tid": number, **more}


def arrow(phase, number, at):
    one = {"name": "frame", "cat": "frame", "ph": phase, "id": 7, "ts": at, "pid": 1, "tid": number}
    return {**one, "bp": "e"} if phase == "f" else one


PROCESS = {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "p"}}
GOOD = [PROCESS, *row(1, "a"), *row(2, "b"), work(1, 0, 5), work(1, 1, 2), work(2, 6, 1), arrow("s", 1, 0), arrow("f", 2, 6)]  # fmt: skip


def read(events, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
    return read_trace(path)


def test_a_good_one_is_read(tmp_path):
    trace = read(GOOD, tmp_path)
    outer, inner = trace.rows["p", "a"]
    assert inner.parent is outer and (inner.begin, inner.end) == (1000, 3000)
    assert [(phase, name, one.begin) for phase, _, name, one in trace.flows[7]] == [("s", "a", 0), ("f", "b", 6000)]  # fmt: skip


FAULTS = {
    "a second name": [*GOOD, PROCESS],
    "a row without a name": [*GOOD, work(3, 0, 1)],
    "a name without slices": [*GOOD, *row(3, "c")],
    "no duration": [*GOOD, {key: value for key, value in work(2, 8, 1).items() if key != "dur"}],
    "a field of no phase": [*GOOD, work(2, 8, 1, flow=1)],
    "a slice that does not nest": [*GOOD, work(1, 4, 2)],
    "times that go back": [*GOOD, work(2, 0, 1)],
    "a flow without an end": GOOD[:-1],
    "an end before the start": [*GOOD[:-2], GOOD[-1], GOOD[-2]],
    "an arrow beside the slices": [*GOOD[:-1], arrow("f", 2, 8)],
    "an arrow back in time": [*GOOD[:-2], arrow("s", 2, 7), arrow("f", 1, 5)],
    "an end at the next slice": [*GOOD[:-1], {key: value for key, value in GOOD[-1].items() if key != "bp"}],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_refused(fault, tmp_path):
    with pytest.raises((AssertionError, KeyError)):
        read(FAULTS[fault], tmp_path)
    read(copy.deepcopy(GOOD), tmp_path)


def test_a_run_on_two_devices_has_a_row_for_each(tmp_path):
    program = compile_small(tmp_path, "-d", "cpu,accel=sim:0", "--pin", "relu1=reference@accel")
    path = tmp_path / "trace.json"
    call("run", program, "--runs", 4, "--trace", path)
    trace = read_trace(path)
    assert {row.split(" #")[0] for _, row in trace.rows} == {"cpu", "sim:0"} and not trace.flows
    every = [one for slices in trace.rows.values() for one in slices]
    assert sum(one.category == "region" for one in every) == 4 * 3
    assert sum(one.category == "copy" for one in every) == 4 * 2
