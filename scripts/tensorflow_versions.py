#!/usr/bin/env python3
"""Runs the op in the oldest and the newest TensorFlow that pip offers for this Python, each in an environment of its own with
nothing else of ours, and prints a line for each. Not part of `make test`: it downloads 500 MB.

    build/venv/bin/python scripts/tensorflow_versions.py [VERSION ...]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "build/tensorflow"
LIBRARY = pathlib.Path(sysconfig.get_path("purelib"), "tensorflow-plugins/libintarsia_tensorflow.so")

CHECK = """
import sys
import numpy as np, tensorflow as tf
program, content = sys.argv[1], open(sys.argv[1], "rb").read()
from tensorflow.python.framework import op_def_library

def addone(x, artifact=program):
    return op_def_library.apply_op("Intarsia", artifact=artifact, inputs=[x], Tout=[tf.float32], function="", threads=0, bindings=[])[0]

v1 = tf.compat.v1
with v1.Graph().as_default(), v1.Session() as session:  # found by the import alone
    x = v1.placeholder(tf.float32, [None])
    y = addone(addone(x, content))
    for size in (0, 1, 7, 1000):
        np.testing.assert_array_equal(session.run(y, {x: np.arange(size)}), np.arange(size) + 2)

class Served(tf.Module):
    def __init__(self):
        self.program = tf.saved_model.Asset(program)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def serve(self, x):
        return {"y": addone(x, self.program.asset_path)}

served = Served()
folder = sys.argv[2]
tf.saved_model.save(served, folder, signatures={"serving_default": served.serve})
run = tf.saved_model.load(folder).signatures["serving_default"]
np.testing.assert_array_equal(run(x=tf.constant([1.0, 2.0]))["y"], [2, 3])
try:
    run(x=tf.constant([[1.0]]))
    raise SystemExit("no error")
except (tf.errors.InvalidArgumentError, ValueError, TypeError):
    pass
print(tf.__version__)
"""


def run(*command, **environment):
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | environment,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command[:4]))} ...:\n{done.stdout}{done.stderr}")
    return done.stdout


def offered_versions():
    """Returns the versions that pip offers, the oldest first."""
    listed = run(sys.executable, "-m", "pip", "index", "versions", "tensorflow-cpu")
    return re.search(r"Available versions: (.*)", listed)[1].split(", ")[::-1]


def environment_of(version):
    """Makes an environment with this TensorFlow and the op's library, or takes the one that is there."""
    folder = ENVIRONMENTS / version
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", folder)
        run(python, "-m", "pip", "install", "-q", f"tensorflow-cpu=={version}")
        (folder / "complete").touch()
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    plugins = pathlib.Path(packages, "tensorflow-plugins")
    plugins.mkdir(exist_ok=True)
    shutil.copy(LIBRARY, plugins)
    return python


def main():
    versions = sys.argv[1:] or [offered_versions()[0], offered_versions()[-1]]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "addone.so")
        model = (
            '<ir_version: 9, opset_import: ["": 18]> '
            "addone (float[n] x) => (float[n] y) <float one = {1}> { y = Add (x, one) }"
        )
        make = f"import intarsia, onnx.parser; intarsia.compile(onnx.parser.parse_model({model!r}), tune='off').save({str(program)!r})"
        run(sys.executable, "-c", make)
        for version in versions:
            made = run(
                environment_of(version), "-c", CHECK, program, pathlib.Path(folder, f"saved-{version}")
            )
            print(f"TensorFlow {made.strip()}: the op runs in sessions, tf.function and SavedModels")


if __name__ == "__main__":
    main()
