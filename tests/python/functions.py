"""Functions written with Halide's Python package, as programs: their values are Halide's own, sizes follow from what they
read, and they run from Python, the command line, pipelines and TensorFlow.

Covers: bindings/python/intarsia/ functions.py
src/compile/ export_functions.cc
src/measure/ choose_functions.cc
src/api/ export_api.cc
backends/halide/emit/ error_glue.c glue_object.cc
backends/halide/functions/ function_compiler.cc generate_objects.cc infer_sizes.cc bounds_query.cc
backends/halide/generate/ generate_main.cc
backends/halide/runtime/ load_function.cc
"""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import halide as hl
import intarsia
import numpy as np
import pytest

CLI = Path(os.environ["INTARSIA_CLI"])
GENERATORS = Path(os.environ["INTARSIA_TEST_PLUGINS"], "libhalide_generators.so")
x, y, c, xi, yi = (hl.Var(name) for name in ("x", "y", "c", "xi", "yi"))
FLOAT = hl.Float(32)


def source(name="a", dimensions=1, dtype=FLOAT):
    return hl.ImageParam(dtype, dimensions, name)


def func(name, variables, value):
    """f(variables) = value."""
    made = hl.Func(name)
    made[tuple(variables)] = value
    return made


def addone():
    return func("b", [x], source()[x] + 1.0)


def blur():
    """The mean of 3 x 3 elements, where all are there: in two stages, tiled, in vectors and threads."""
    image = source("image", 2)
    rows = func("rows", [x, y], (image[x, y] + image[x + 1, y] + image[x + 2, y]) / 3.0)
    both = func("blurred", [x, y], (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) / 3.0)
    guard = hl.TailStrategy.GuardWithIf
    both.tile(x, y, xi, yi, 64, 16, guard).vectorize(xi, 8, guard).parallel(y)
    rows.compute_at(both, x).vectorize(x, 8, guard)
    return both


def smooth():
    image = source("image", 2)
    edges = hl.BoundaryConditions.repeat_edge(image)
    return func("smooth", [x, y], (edges[x - 1, y] + edges[x, y] + edges[x + 1, y]) / 3.0)


def extremes():
    """The greatest element of each row and where it is."""
    image = source("image", 2)
    r = hl.RDom([(0, image.width())], "r")
    made = func("most", [y], (hl.f32(-1), hl.i32(-1)))
    is_more = image[r.x, y] > made[y][0]
    made[y] = (hl.select(is_more, image[r.x, y], made[y][0]), hl.select(is_more, r.x, made[y][1]))
    return made


def scaled_sine():
    return func("scaled", [x], hl.sin(source()[x]) * hl.Param(FLOAT, "scale", 2.0))


def down():
    image = source("image", 2)
    return func("down", [x, y], (image[2 * x, 2 * y] + image[2 * x + 1, 2 * y + 1]) / 2.0)


def up():
    return func("up", [x, y], source("image", 2)[x // 2, y // 2])


def shifted():
    """Reads from element -1 on."""
    a = source()
    return func("shifted", [x], a[x - 1] + a[x + 1])


def channels():
    """A picture of three channels becomes one of four."""
    image = source("image", 3, hl.UInt(8))
    image.dim(2).set_bounds(0, 3)
    made = func("rgba", [x, y, c], hl.select(c < 3, image[x, y, hl.clamp(c, 0, 2)], hl.u8(255)))
    made.output_buffer().dim(2).set_bounds(0, 4)
    return made


def product():
    a, b = source("a", 2), source("b", 2)
    r = hl.RDom([(0, a.width())], "r")
    made = func("product", [x, y], 0.0)
    made[x, y] += a[r.x, y] * b[x, r.x]
    return made


ALL = [addone, blur, smooth, extremes, scaled_sine, down, up, shifted, channels, product]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("functions") / "functions.so"
    return intarsia.export_functions({make.__name__: make() for make in ALL}, path)


def shapes(program, function):
    _, inputs, outputs = program.signature(function)
    return tuple(", ".join(map(str, side)) for side in (inputs, outputs))


def test_sizes_follow_from_what_is_read(program):
    assert program.functions == [make.__name__ for make in ALL]
    assert {name: shapes(program, name) for name in program.functions} == {
        "addone": ("a: float32[a_0]", "b: float32[a_0]"),
        "blur": ("image: float32[image_0, image_1]", "blurred: float32[image_0-2, image_1-2]"),
        "smooth": ("image: float32[image_0, image_1]", "smooth: float32[image_0, image_1]"),
        "extremes": (
            "image: float32[image_0, image_1]",
            "most.0: float32[image_0], most.1: int32[image_0]",
        ),
        "scaled_sine": ("a: float32[a_0], scale: float32[]", "scaled: float32[a_0]"),
        "down": (
            "image: float32[image_0, image_1]",
            "down: float32[floor_div(image_0,2), floor_div(image_1,2)]",
        ),
        "up": ("image: float32[image_0, image_1]", "up: float32[2*image_0, 2*image_1]"),
        "shifted": ("a: float32[a_0]", "shifted: float32[a_0-2]"),
        "channels": ("image: uint8[3, image_1, image_2]", "rgba: uint8[4, image_1, image_2]"),
        "product": ("a: float32[a_0, a_1], b: float32[b_0, b_1]", "product: float32[a_0, b_1]"),
    }


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_addone(program, size):
    a = np.arange(size, dtype="float32")
    np.testing.assert_array_equal(program.run({"a": a}, "addone")["b"], a + 1)


def test_no_elements(program):
    assert program.run({"a": np.zeros(0, "float32")}, "addone")["b"].shape == (0,)


@pytest.mark.parametrize("height, width", [(3, 3), (37, 51), (130, 200), (5, 1000)])
def test_values(program, height, width):
    image = np.random.default_rng(height).random((height, width), dtype="float32")

    def run(name, **inputs):
        made = program.run({"image": image} | inputs if "a" not in inputs else inputs, name)
        return next(iter(made.values())) if len(made) == 1 else list(made.values())

    rows = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) / 3
    np.testing.assert_allclose(run("blur"), (rows[:-2] + rows[1:-1] + rows[2:]) / 3, rtol=1e-5)
    wide = np.pad(image, ((0, 0), (1, 1)), mode="edge")
    np.testing.assert_allclose(run("smooth"), (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) / 3, rtol=1e-5)
    most, where = run("extremes")
    np.testing.assert_array_equal(most, image.max(1))
    np.testing.assert_array_equal(where, image.argmax(1))
    even = image[: height // 2 * 2, : width // 2 * 2]
    np.testing.assert_allclose(run("down"), (even[::2, ::2] + even[1::2, 1::2]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(run("up"), image.repeat(2, 0).repeat(2, 1))
    row = image[0]
    np.testing.assert_allclose(run("shifted", a=row), row[:-2] + row[2:], rtol=1e-6)
    made = run("scaled_sine", a=row, scale=np.float32(3))
    np.testing.assert_allclose(made, np.sin(row) * 3, rtol=1e-5)
    np.testing.assert_allclose(run("product", a=image, b=image.T), image @ image.T, rtol=1e-4)


def test_fixed_sizes(program):
    picture = np.random.default_rng(1).integers(0, 255, (3, 4, 5), dtype="uint8")
    made = program.run({"image": picture}, "channels")["rgba"]
    np.testing.assert_array_equal(made[:3], picture)
    assert (made[3] == 255).all()
    with pytest.raises(intarsia.Error, match="image"):
        program.run({"image": picture[:2]}, "channels")


def test_axes_that_must_be_equally_long(tmp_path):
    a = source("a", 2)
    symmetric = func("s", [x, y], a[x, y] + a[y, x])
    program = intarsia.export_functions({"symmetric": symmetric}, tmp_path / "p.so")
    numbers = np.random.default_rng(1).random((9, 9), dtype="float32")
    np.testing.assert_allclose(program.run({"a": numbers})["s"], numbers + numbers.T)
    with pytest.raises(intarsia.Error, match="input 'a'"):
        program.run({"a": numbers[:8]})


def test_values_are_those_of_halide(program):
    """Of the whole function, run by Halide itself."""
    image = np.random.default_rng(5).random((66, 70), dtype="float32")
    function = blur()
    inputs = [hl.Buffer(np.ascontiguousarray(image))]
    param = next(a for a in function.infer_arguments() if a.name == "image")
    assert param.dimensions == 2
    callable_ = function.compile_to_callable(function.infer_arguments(), hl.get_host_target())
    output = np.zeros((64, 68), "float32")
    callable_(inputs[0], hl.Buffer(output))
    np.testing.assert_allclose(program.run({"image": image}, "blur")["blurred"], output, rtol=1e-6)


def test_runs_in_the_threads_of_the_session(program):
    image = np.random.default_rng(2).random((1000, 500), dtype="float32")
    made = [program.bind(threads=n).run({"image": image}, "blur")["blurred"] for n in (1, 2)]
    np.testing.assert_array_equal(*made)


def test_dtypes(tmp_path):
    types = {
        "int8": hl.Int(8),
        "int16": hl.Int(16),
        "int32": hl.Int(32),
        "int64": hl.Int(64),
        "uint8": hl.UInt(8),
        "uint16": hl.UInt(16),
        "uint32": hl.UInt(32),
        "uint64": hl.UInt(64),
        "float16": hl.Float(16),
        "float32": hl.Float(32),
        "float64": hl.Float(64),
        "bool": hl.Bool(),
    }
    copies = {name: func("b", [x], source("a", 1, dtype)[x]) for name, dtype in types.items()}
    program = intarsia.export_functions(copies, tmp_path / "p.so")
    for name in types:
        a = np.array([0, 1, 1, 0], name)
        made = program.run({"a": a}, name)["b"]
        assert made.dtype == a.dtype
        np.testing.assert_array_equal(made, a)


def test_the_command_line_runs_them(program, tmp_path):
    image = np.random.default_rng(3).random((9, 8), dtype="float32")
    np.save(tmp_path / "image.npy", image)
    ran = subprocess.run(
        [CLI, "run", program.path, "--function", "up", "-i", f"image={tmp_path}/image.npy", "-o", tmp_path],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "up.npy"), image.repeat(2, 0).repeat(2, 1))
    for size in (1, 7, 10**6):
        np.save(tmp_path / "a.npy", np.arange(size, dtype="float32"))
        command = [
            CLI,
            "run",
            program.path,
            "--function",
            "addone",
            "-i",
            f"a={tmp_path}/a.npy",
            "-o",
            tmp_path,
        ]
        subprocess.run(command, check=True, capture_output=True)
        np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.arange(1, size + 1, dtype="float32"))
    explained = subprocess.run([CLI, "explain", program.path], capture_output=True, text=True)
    assert explained.returncode == 0 and "a user's function" in explained.stdout, explained.stderr


def test_a_pipeline_runs_them(program):
    builder = intarsia.PipelineBuilder()
    builder.add("first", program, function="addone")
    builder.add("second", program, function="shifted")
    builder.connect("first.b", "second.a")
    with builder.start() as pipeline:
        for size in (7, 10, 10**6):
            a = np.arange(size, dtype="float32")
            pipeline.push({"a": a})
            made = pipeline.pop().outputs["shifted"]
            np.testing.assert_array_equal(made, (a + 1)[:-2] + (a + 1)[2:])


def test_tensorflow_runs_them(program):
    import intarsia.tensorflow
    import tensorflow as tf

    module = intarsia.tensorflow.Module(program.path)
    for size in (1, 7, 10**6):
        np.testing.assert_array_equal(module["addone"](tf.zeros(size)), np.ones(size))

    @tf.function(input_signature=[tf.TensorSpec([None, 64])])
    def run(image):
        made = module["blur"](image)
        assert made.shape.as_list() == [None, 62]
        return made

    np.testing.assert_allclose(run(tf.ones([20, 64])), np.ones([18, 62]), rtol=1e-6)


def test_a_gradient_of_the_same_program(tmp_path):
    import intarsia.tensorflow
    import tensorflow as tf

    a, db = source("a"), source("db")
    functions = {
        "cube": func("b", [x], a[x] * a[x] * a[x]),
        "backward": func("da", [x], 3.0 * a[x] * a[x] * db[x]),
    }
    intarsia.export_functions(functions, tmp_path / "p.so")
    cube = intarsia.tensorflow.Module(tmp_path / "p.so", gradient="backward")["cube"]
    theory, numbers = tf.test.compute_gradient(cube, [np.array([1, -2, 0.5], "float32")], delta=1e-2)
    np.testing.assert_allclose(theory, numbers, atol=5e-3)


# ---- generators in C++ ----


def compile_functions(library, program, *options):
    return subprocess.run(
        [CLI, "compile", "--functions", library, "-o", program, *options], capture_output=True, text=True
    )


def test_all_generators_of_a_library(tmp_path):
    ran = compile_functions(GENERATORS, tmp_path / "p.so")
    assert ran.returncode == 0, ran.stderr
    assert [line.strip() for line in ran.stdout.splitlines()[1:]] == ["addone", "blur", "scale", "totals"]
    program = intarsia.load(tmp_path / "p.so")
    assert {name: shapes(program, name) for name in program.functions} == {
        "addone": ("a: float32[a_0]", "b: float32[a_0]"),
        "blur": ("image: float32[image_0, image_1]", "blurred: float32[image_0-2, image_1-2]"),
        "scale": ("a: uint8[a_0], factor: float32[]", "b: uint8[a_0]"),
        "totals": ("a: int32[a_0, a_1]", "sum: int32[a_0], most: int32[a_0]"),
    }
    for size in (1, 7, 10**6):
        a = np.arange(size, dtype="float32")
        np.testing.assert_array_equal(program.run({"a": a}, "addone")["b"], a + 1)
    image = np.random.default_rng(1).random((50, 70), dtype="float32")
    rows = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) / 3
    made = program.run({"image": image}, "blur")["blurred"]
    np.testing.assert_allclose(made, (rows[:-2] + rows[1:-1] + rows[2:]) / 3, rtol=1e-5)
    numbers = np.random.default_rng(2).integers(-99, 99, (4, 9), dtype="int32")
    totals = program.run({"a": numbers}, "totals")
    np.testing.assert_array_equal(totals["sum"], numbers.sum(1))
    np.testing.assert_array_equal(totals["most"], numbers.max(1))
    bytes_ = np.array([0, 10, 100, 200], "uint8")
    made = program.run({"a": bytes_, "factor": np.float32(2.5)}, "scale")["b"]
    np.testing.assert_array_equal(made, [0, 25, 250, 255])
    with pytest.raises(intarsia.Error, match="greater than its maximum"):
        program.run({"a": bytes_, "factor": np.float32(11)}, "scale")


def test_some_generators_with_parameters(tmp_path):
    ran = compile_functions(
        f"{GENERATORS}:blur/tile=16,addone", tmp_path / "p.so", "--json", "--cpu", "x86-64-v2"
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["functions"] == ["blur", "addone"]
    image = np.ones((20, 20), "float32")
    program = intarsia.load(tmp_path / "p.so")
    np.testing.assert_allclose(program.run({"image": image}, "blur")["blurred"], np.ones((18, 18)), rtol=1e-6)


def slow_and_fast():
    """Two forms of one function: the first computes each row of sums for each element again."""
    forms = []
    for is_slow in (True, False):
        image = source("image", 2)
        rows = func("rows", [x, y], hl.sqrt(image[x, y]) + hl.sqrt(image[x, y + 1]))
        r = hl.RDom([(0, 60)], "r")
        sums = func("sums", [x, y], 0.0)
        sums[x, y] += rows[x, y + r]
        if not is_slow:
            rows.compute_root().vectorize(x, 8, hl.TailStrategy.GuardWithIf)
            sums.vectorize(x, 8, hl.TailStrategy.GuardWithIf)
            sums.update().vectorize(x, 8, hl.TailStrategy.GuardWithIf)
        forms.append(sums)
    return forms


def test_the_fastest_form_is_taken_and_times_are_kept(tmp_path):
    def export(name, forms, **options):
        intarsia.export_functions({"sums": forms}, tmp_path / name, cache=tmp_path / "cache", **options)
        return (tmp_path / name).read_bytes()

    def nearest(program):  # Halide numbers names, so equal functions differ by some bytes
        return int(np.argmin([abs(len(program) - len(one)) for one in alone]))

    alone = [export(f"{i}.so", form) for i, form in enumerate(slow_and_fast())]
    assert abs(len(alone[0]) - len(alone[1])) > 500
    assert nearest(export("first.so", slow_and_fast(), tune="off")) == 0
    assert nearest(export("chosen.so", slow_and_fast(), threads=1)) == 1
    assert nearest(export("reversed.so", slow_and_fast()[::-1], threads=1)) == 1
    with sqlite3.connect(next((tmp_path / "cache").glob("*.sqlite"))) as table:
        (rows,) = table.execute("SELECT count(*) FROM costs").fetchone()
    assert rows in (0, 2, 4)  # those of a busy machine are not kept
    export("large.so", slow_and_fast(), threads=1, tune_at={"image_1": 300})
    program = intarsia.load(tmp_path / "large.so")
    image = np.random.default_rng(1).random((80, 20), dtype="float32")
    roots = np.sqrt(image)
    rows = roots[:-1] + roots[1:]
    sums = np.stack([rows[i : i + 60].sum(0) for i in range(20)])
    np.testing.assert_allclose(program.run({"image": image})["sums"], sums, rtol=1e-4)


def test_sizes_to_time_forms_at_are_checked(tmp_path):
    refuse(
        {"f": addone()},
        tmp_path / "p.so",
        "no open size of this name; the functions have: a_0",
        tune_at={"n": 3},
    )
    refuse({"f": shifted()}, tmp_path / "p.so", "1: it is at least 2", tune_at={"a_0": 1})


def test_forms_of_generators(tmp_path):
    """Of two tiles, one is taken; the autoscheduler's schedule is another form."""
    forms = "blur/tile=8,blur/tile=128,blur/autoscheduler=Mullapudi2016/autoscheduler.parallelism=2"
    ran = compile_functions(
        f"{GENERATORS}:{forms}",
        tmp_path / "p.so",
        "--cache",
        tmp_path / "cache",
        "--json",
        "--tune-at",
        "image_0=200",
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["functions"] == ["blur"]
    image = np.ones((200, 300), "float32")
    made = intarsia.load(tmp_path / "p.so").run({"image": image})["blurred"]
    np.testing.assert_allclose(made, np.ones((198, 298)), rtol=1e-6)


def test_generators_from_python(tmp_path):
    program = intarsia.export_generators(GENERATORS, tmp_path / "p.so", ["addone"])
    np.testing.assert_array_equal(program.run({"a": np.zeros(5, "float32")})["b"], np.ones(5))
    with pytest.raises(intarsia.InvalidArgumentError, match="no generator 'none'"):
        intarsia.export_generators(GENERATORS, tmp_path / "q.so", ["none"])


def test_generators_that_cannot_be_taken(tmp_path):
    program = tmp_path / "p.so"
    cases = [
        (f"{GENERATORS}:none", "no generator 'none'; the library registers: addone, blur, scale, totals"),
        (f"{GENERATORS}:blur/tile", "want PARAMETER=VALUE"),
        (f"{GENERATORS}:blur/none=3", "none"),
        (tmp_path / "missing.so", "No such file"),
        (Path(os.environ["INTARSIA_TEST_PLUGINS"], "libtoy_npu.so"), "it registers no generators"),
        (CLI, "cannot open it"),
    ]
    for library, message in cases:
        ran = compile_functions(library, program)
        assert ran.returncode != 0 and message in ran.stderr, (library, ran.stderr)
        assert ran.stderr.count("\n") == 1 and not program.exists()
    ran = subprocess.run([CLI, "compile", "--functions", GENERATORS], capture_output=True, text=True)
    assert ran.returncode == 2 and "name the program to write with -o" in ran.stderr
    ran = subprocess.run(
        [CLI, "compile", "m.onnx", "--functions", GENERATORS], capture_output=True, text=True
    )
    assert ran.returncode == 2 and "--functions" in ran.stderr


# ---- bad input ----


def refuse(functions, path, match, kind=intarsia.Error, **options):
    with pytest.raises(kind, match=match):
        intarsia.export_functions(functions, path, **options)
    assert not Path(path).exists()


def test_what_cannot_be_exported_is_one_clear_error(tmp_path):
    path = tmp_path / "p.so"
    diagonal = func("d", [x, y], source()[x + y])
    flipped = func("f", [x], source()[100 - x])
    nothing = func("n", [x], hl.f32(x))
    refuse({}, path, "got no function to export, want at least one")
    refuse({"a-b": addone()}, path, "want a name of letters")
    refuse({"f": 3}, path, "function 'f' is a int, want a halide.Func", intarsia.InvalidArgumentError)
    refuse({"f": hl.Func("empty")}, path, "function 'f': Halide: ", intarsia.InvalidArgumentError)
    refuse({"f": diagonal}, path, "depends on several axes")
    refuse({"f": flipped}, path, "input 'a', axis 0: ")
    refuse({"f": nothing}, path, "output 'n', axis 0: no input tells its size")
    refuse({"f": addone()}, path, "cpu='pentium': want native", cpu="pentium")
    with pytest.raises(intarsia.Error, match="folder"):
        intarsia.export_functions({"f": addone()}, tmp_path)


def test_too_few_elements_for_a_schedule_are_an_error_of_the_run(tmp_path):
    """Vectors of 8 without a guard need 8 elements."""
    wide = func("b", [x], source()[x] + 1.0)
    wide.vectorize(x, 8)
    program = intarsia.export_functions({"wide": wide}, tmp_path / "p.so")
    a = np.arange(13, dtype="float32")
    np.testing.assert_array_equal(program.run({"a": a})["b"], a + 1)
    with pytest.raises(intarsia.Error, match="smaller than what the function reads or writes"):
        program.run({"a": a[:3]})
    np.testing.assert_array_equal(program.run({"a": a})["b"], a + 1)


def test_a_parameter_with_a_least_value(tmp_path):
    """Which is not zero, and has no default."""
    factor = hl.Param(hl.Int(32), "factor")
    factor.set_range(2, 5)
    times = func("b", [x], source("a", 1, hl.Int(32))[x] * factor)
    program = intarsia.export_functions({"times": times}, tmp_path / "p.so")
    a = np.arange(4, dtype="int32")
    np.testing.assert_array_equal(program.run({"a": a, "factor": np.int32(3)})["b"], a * 3)
    for wrong in (1, 6):
        with pytest.raises(intarsia.Error, match="a parameter is"):
            program.run({"a": a, "factor": np.int32(wrong)})


def test_an_older_cpu_level(tmp_path):
    program = intarsia.export_functions({"addone": addone()}, tmp_path / "p.so", cpu="x86-64-v2")
    assert "x86-64-v2" in str(program)
    np.testing.assert_array_equal(program.run({"a": np.zeros(3, "float32")})["b"], [1, 1, 1])
