"""Rewriting of models for tests: once each, a process that imports only TensorFlow, and what a SavedModel offers its users."""

import dataclasses
import pickle
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import rewrite_models
import rewrite_sessions
from cli_models import call_json
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

import tensorflow as tf

BATCHES = (1, 3, 8)
FAST = ("--tune", "off")
TUNED = ("keras_convolutions", "unsupported_middle")  # the others are not about which kernel is the fastest


@dataclasses.dataclass
class Rewritten:
    model: rewrite_models.Model
    original: Path
    folder: Path  # the rewritten model, which was moved here
    report: dict


class Rewriter:
    """Makes each model and rewrites it when it is asked for first."""

    def __init__(self, folder, options):
        self.folder, self.options, self.made = folder, options, {}

    def __call__(self, name):
        if name not in self.made:
            original = self.folder / name
            model = rewrite_sessions.SAVED_MODELS[name](str(original))
            options = () if name in TUNED else FAST
            for attempt in range(8):  # on a busy machine, what is faster may seem slower
                time.sleep(min(attempt, 2))
                report = call_json(
                    "rewrite", original, self.folder / "new" / name, "--force", *options, *self.options
                )
                if len(report["replaced"]) >= model.ops or not any(
                    "would take" in why for why in report["kept"]
                ):
                    break
            moved = self.folder / "moved" / name
            (self.folder / "new" / name).rename(moved)
            self.made[name] = Rewritten(model, original, moved, report)
        return self.made[name]


def make_rewriter(folder, *options):
    for name in ("new", "moved"):
        (folder / name).mkdir()
    return Rewriter(folder, options)


# ---- a process that imports only TensorFlow ----

SERVER = """
import os, pickle, sys, traceback
import tensorflow as tf
channel = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
while True:
    try:
        code, values = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    try:
        values["tf"] = tf
        exec(code, values)
        answer = None, values.get("answer")
    except BaseException:
        answer = traceback.format_exc(), None
    pickle.dump(answer if "intarsia" not in sys.modules else ("intarsia was imported", None), channel)
    channel.flush()
"""


class OnlyTensorFlow:
    """A process that runs code; a new one after a crash."""

    def __init__(self, folder):
        self.process, self.log = None, folder / "server.txt"

    def run(self, code, **values):
        """Runs code with these variables; returns its variable `answer`."""
        if self.process is None:
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    [sys.executable, "-c", SERVER],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd="/",
                )
        try:
            pickle.dump((code, values), self.process.stdin)
            self.process.stdin.flush()
            error, answer = pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError):
            status = self.process.wait()
            self.process = None
            raise AssertionError(f"crashed with {status}\n{self.log.read_text()[-2000:]}") from None
        assert error is None, error
        return answer

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


COMPARE = """
import numpy as np

def flatten(value, path=()):
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flatten(value[key], (*path, str(key)))]
    if isinstance(value, (list, tuple)):
        return [leaf for key, one in enumerate(value) for leaf in flatten(one, (*path, str(key)))]
    return [("/".join(path), value)]

def check(wanted, got, where, random=()):
    tf.nest.assert_same_structure(wanted, got)
    for (path, a), (_, b) in zip(flatten(wanted), flatten(got)):
        a, b, what = np.asarray(a), np.asarray(b), f"{where} {path}"
        assert a.dtype == b.dtype and a.shape == b.shape, (what, a.dtype, b.dtype, a.shape, b.shape)
        if path in random:
            assert not np.array_equal(a, b), f"{what}: random numbers are the same twice"
        elif a.dtype.kind == "f":
            largest = np.abs(a).max(initial=1e-30)
            assert np.abs(a - b).max(initial=0) <= 1e-3 * largest, f"{what}: {np.abs(a - b).max()} of {largest}"
        else:
            np.testing.assert_array_equal(a, b, what)
"""

CALLED = (
    COMPARE
    + """
from tensorflow import constant
models = [tf.saved_model.load(folder, tags=tags) for folder in folders]
for name, inputs in signatures:
    wanted, got = [model.signatures[name](**{k: constant(v) for k, v in inputs.items()}) for model in models]
    check(wanted, got, f"signature {name}", random)
for name, (arguments, keywords) in methods:
    arguments = tf.nest.map_structure(constant, arguments)
    wanted, got = [getattr(model, name.split()[0])(*arguments, **keywords) for model in models]
    check(wanted, got, f"method {name}", random)
"""
)

IN_SESSIONS = (
    COMPARE
    + """
v1 = tf.compat.v1
sessions, definitions = [], []
for folder in folders:
    sessions.append(v1.Session(graph=v1.Graph()))
    with sessions[-1].graph.as_default():
        definitions.append(v1.saved_model.load(sessions[-1], tags, folder).signature_def)
for name, inputs in signatures:
    results = []
    for session, definition in zip(sessions, definitions):
        tensors = {key: info.name for key, info in definition[name].outputs.items()}
        results.append(session.run(tensors, {definition[name].inputs[key].name: value for key, value in inputs.items()}))
    check(*results, f"signature {name}", random)
"""
)


def draw_all(draws, seed=1):
    """Values of each, at each batch."""
    random = np.random.default_rng(seed)
    return [(name, draw(random, batch)) for batch in BATCHES for name, draw in draws.items()]


# ---- what a SavedModel offers ----


def read_model(folder):
    return saved_model_pb2.SavedModel.FromString((Path(folder) / "saved_model.pb").read_bytes())


def count_ops(folder, graph=None):
    """The number of nodes of type Intarsia."""
    graphs = [graph] if graph is not None else [meta.graph_def for meta in read_model(folder).meta_graphs]
    nodes = [list(graph.node) for graph in graphs]
    nodes += [list(function.node_def) for graph in graphs for function in graph.library.function]
    return sum(node.op == "Intarsia" for several in nodes for node in several)


def describe_object(saved, objects):
    """What kind an object is, and all that a program which loads the model can see of it."""
    kind = saved.WhichOneof("kind")
    value = getattr(saved, kind)
    if kind == "function":
        names = list(value.concrete_functions)
        return kind, str(value.function_spec), [describe_function(objects, name) for name in names]
    if kind == "bare_concrete_function":
        return (
            kind,
            list(value.argument_keywords),
            value.allowed_positional_arguments,
            str(value.function_spec),
            describe_function(objects, value.concrete_function_name),
        )
    if kind == "constant":
        return kind, value.operation
    if kind == "asset":
        return (kind,)
    return kind, str(value)


def describe_function(objects, name):
    function = objects.concrete_functions[name]
    return name, str(function.canonicalized_input_signature), str(function.output_signature)


PROGRAM = "intarsia_program"  # the root's child that a rewritten model has more


def describe_objects(objects):
    """All objects by their path from the root; without the program."""
    found, seen, open_paths = {}, set(), [("root", 0)]
    while open_paths:
        path, number = open_paths.pop(0)
        saved = objects.nodes[number]
        children = {
            child.local_name: child.node_id for child in saved.children if child.local_name != PROGRAM
        }
        slots = sorted((slot.slot_name, slot.original_variable_node_id) for slot in saved.slot_variables)
        savers = sorted(saved.saveable_objects)
        found[path] = (
            *describe_object(saved, objects),
            sorted(children),
            slots,
            savers,
            saved.registered_name,
        )
        if number not in seen:
            seen.add(number)
            open_paths += [(f"{path}.{name}", child) for name, child in children.items()]
    return found


def list_files(folder):
    """The bytes of all files but those that the rewriting changes."""
    files = {str(file.relative_to(folder)): file for file in Path(folder).rglob("*") if file.is_file()}
    changed = {"saved_model.pb", "fingerprint.pb", "assets/intarsia.so"}
    return {name: file.read_bytes() for name, file in files.items() if name not in changed}


def list_assets(meta):
    """Assets; those of old files are in a collection."""
    collected = meta.collection_def["saved_model_assets"].any_list.value if meta.collection_def else ()
    return list(meta.asset_file_def) or [
        meta_graph_pb2.AssetFileDef.FromString(one.value) for one in collected
    ]


def surface(folder):
    """All that users of the model can refer to, entry by entry; without the program."""
    entries = {}
    for meta in read_model(folder).meta_graphs:
        tags = ",".join(meta.meta_info_def.tags)
        for name, signature in meta.signature_def.items():
            if name == "__saved_model_init_op":
                continue  # loaders run it
            entries[tags, "signature", name] = (
                str(signature.method_name),
                {
                    side: {
                        key: (info.name, info.dtype, str(info.tensor_shape))
                        for key, info in getattr(signature, side).items()
                    }
                    for side in ("inputs", "outputs")
                },
                sorted(signature.defaults.items(), key=str),
            )
        entries[tags, "saver"] = str(meta.saver_def)
        for name, collection in meta.collection_def.items():
            entries[tags, "collection", name] = collection.SerializeToString(deterministic=True)
        for asset in list_assets(meta):
            if asset.filename != "intarsia.so":
                entries[tags, "asset", asset.filename] = asset.tensor_info.name
        for path, description in (
            describe_objects(meta.object_graph_def).items() if meta.object_graph_def.nodes else ()
        ):
            entries[tags, path] = description
        for name in meta.object_graph_def.concrete_functions:
            entries[tags, "function", name] = describe_function(meta.object_graph_def, name)
        for function in meta.graph_def.library.function:
            entries[tags, "in the library", function.signature.name] = [
                (result.name, result.type)
                for result in function.signature.output_arg
                if not result.name.startswith(PROGRAM)  # a loop's body returns what it gets
            ]
    if (Path(folder) / "variables").is_dir():
        entries["variables"] = tf.train.list_variables(str(Path(folder) / "variables" / "variables"))
    entries["files"] = list_files(folder)
    return entries


def objects_beyond(original, folder):
    """How many objects of each kind the rewritten model has more."""
    kinds = [
        Counter(
            saved.WhichOneof("kind")
            for meta in read_model(one).meta_graphs
            for saved in meta.object_graph_def.nodes
        )
        for one in (original, folder)
    ]
    return dict(kinds[1] - kinds[0]), dict(kinds[0] - kinds[1])
