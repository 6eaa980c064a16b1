"""Reads a trace and refuses what the Trace Event Format does not allow, or what a viewer would silently drop or misplace:
ui.perfetto.dev shows only slices that nest, and arrows only where both ends lie in slices."""

import json
import pathlib
from collections import defaultdict
from dataclasses import dataclass, field

# By phase: the fields that an event has, all of them, and those that it may have.
FIELDS = {
    "M": ({"name", "ph", "pid", "tid", "args"}, set()),
    "X": ({"name", "cat", "ph", "ts", "dur", "pid", "tid"}, {"args"}),
    "s": ({"name", "cat", "ph", "id", "ts", "pid", "tid"}, set()),
    "t": ({"name", "cat", "ph", "id", "ts", "pid", "tid"}, set()),
    "f": ({"name", "cat", "ph", "id", "ts", "pid", "tid", "bp"}, set()),
}
METADATA = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}  # fmt: skip


@dataclass
class Slice:
    name: str
    category: str
    begin: int  # nanoseconds
    end: int
    args: dict
    parent: "Slice | None" = None


@dataclass
class Trace:
    rows: dict = field(default_factory=dict)  # (process, thread), by their names: its slices in order
    flows: dict = field(default_factory=dict)  # id: [(phase, process, thread, the slice that it binds to)]


def nanoseconds(microseconds):
    assert isinstance(microseconds, (int, float)) and microseconds >= 0, microseconds
    return round(microseconds * 1000)


def check_fields(event):
    required, optional = FIELDS[event["ph"]]
    assert required <= event.keys() <= required | optional, event
    assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"], event
    assert isinstance(event.get("args", {}), dict), event
    if event["ph"] == "M":
        assert event["args"].keys() == {METADATA[event["name"]]}, event
    else:
        assert isinstance(event["cat"], str) and event["cat"], event
    if event["ph"] == "f":
        assert event["bp"] == "e", "without it an arrow ends at the next slice of the row"


def read_names(events):
    """({pid: name}, {tid: (pid, name)}): each is named once, and a thread is of one process."""
    processes, threads = {}, {}
    for event in (event for event in events if event["ph"] == "M"):
        if event["name"] == "process_name":
            assert event["pid"] not in processes, f"a second name: {event}"
            processes[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            assert event["tid"] not in threads, f"a second name: {event}"
            threads[event["tid"]] = (event["pid"], event["args"]["name"])
    assert all(processes.values()) and all(name for _, name in threads.values())
    return processes, threads


def read_slices(events):
    """In a row slices are in the order of their beginnings, and each ends within the one around it."""
    slices, begun = [], -1
    open_slices = []
    for event in events:
        begin = nanoseconds(event["ts"])
        one = Slice(
            event["name"], event["cat"], begin, begin + nanoseconds(event["dur"]), event.get("args", {})
        )
        assert begin >= begun, f"times go back: {event}"
        begun = begin
        while open_slices and open_slices[-1].end <= one.begin:
            open_slices.pop()
        if open_slices:
            assert one.end <= open_slices[-1].end, f"{one} ends after {open_slices[-1]}, in which it began"
            one.parent = open_slices[-1]
        open_slices.append(one)
        slices.append(one)
    return slices


def bind(slices, time):
    """The innermost slice at that time."""
    around = [one for one in slices if one.begin <= time <= one.end]
    assert around, f"an arrow at {time} ns, where its row has no slice"
    return around[-1]


def read_flow(events, trace, name_of):
    """One start, one end, and steps between, each within a slice and not before the one before."""
    phases = "".join(event["ph"] for event in events)
    assert phases == "s" + "t" * (len(phases) - 2) + "f", f"arrows {phases} of {events[0]['id']}"
    times = [nanoseconds(event["ts"]) for event in events]
    assert times == sorted(times), f"an arrow goes back in time: {events}"
    return [
        (event["ph"], *name_of(event), bind(trace.rows[name_of(event)], time))
        for event, time in zip(events, times, strict=True)
    ]


def read_trace(path):
    document = json.loads(pathlib.Path(path).read_text())
    assert document.keys() == {"traceEvents", "displayTimeUnit"} and document["displayTimeUnit"] == "ms"
    events = document["traceEvents"]
    for event in events:
        assert event.get("ph") in FIELDS, f"phase of {event}"
        check_fields(event)
    processes, threads = read_names(events)

    def name_of(event):
        pid, name = threads[event["tid"]]
        assert pid == event["pid"], f"a thread of two processes: {event}"
        return processes[pid], name

    by_row, by_flow = defaultdict(list), defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            by_row[name_of(event)].append(event)
        elif event["ph"] != "M":
            by_flow[event["cat"], event["name"], event["id"]].append(event)
    assert len(by_row) == len(threads), "rows without slices, or two of one name"
    trace = Trace({row: read_slices(found) for row, found in by_row.items()})
    for (_, _, number), found in by_flow.items():
        assert number not in trace.flows, f"two flows with id {number}"
        trace.flows[number] = read_flow(found, trace, name_of)
    return trace
