"""run --profile and bench --profile: what the time goes to.

Covers: cli/results/ profile.cc
cli/text/ short_names.cc
src/runtime/ kernel_notes.cc profile_session.cc
src/compile/ kernel_notes.cc
src/api/ profile_api.cc
"""

import itertools

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, compile_small, error_of, helper, save, save_small

FLOAT = TensorProto.FLOAT
CONV_FLOPS = 2 * (2 * 4 * 8 * 8) * (3 * 3 * 3)  # outputs of save_small's, by multiply-adds for each
GEMM_FLOPS = 2 * (2 * 5) * 4
RUNS = ("--runs", "20")


def compile_model(model, *options):
    program = model.with_suffix(".so")
    call("compile", model, "-o", program, "--tune", "off", *options)
    return program


def profile_of(program, *options, **more):
    return call_json("run", program, "--profile", *RUNS, *options, **more)["profile"]


def rows_by_node(profile):
    return {node["name"]: row for row in profile["entries"] for node in row["nodes"]}


def check_sums(profile):
    times = [row["time_ns"] for row in profile["entries"]]
    assert times == sorted(times, reverse=True) and all(time > 0 for time in times)
    assert profile["entries_ns"] == sum(times) <= profile["run_ns"]
    assert profile["between_ns"] == profile["run_ns"] - profile["entries_ns"]
    assert sum(row["share"] for row in profile["entries"]) <= 1 + 1e-9
    for row in profile["entries"]:
        for rate, count in (("gflops_per_s", "flops"), ("gb_per_s", "bytes")):
            assert row[rate] == (row[count] and pytest.approx(row[count] / row["time_ns"]))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    model = save_small(tmp_path_factory.mktemp("small") / "small.onnx")
    return compile_model(model, "--backends", "halide")


def test_rows_name_their_nodes_and_count_operations(small):
    report = call_json("run", small, "--profile", *RUNS)
    assert report["outputs"][0]["shape"] == [2, 5]
    profile = report["profile"]
    check_sums(profile)
    assert profile["runs"] == 20
    assert {row["kind"] for row in profile["entries"]} == {"kernel"}
    assert {row["target"] for row in profile["entries"]} == {"halide@cpu"}
    rows = rows_by_node(profile)
    conv, gemm, pool = rows["conv1"], rows["gemm1"], rows["pool1"]
    assert conv["nodes"] == [{"name": "conv1", "op": "Conv"}, {"name": "relu1", "op": "Relu"}]
    assert conv["name"] == "conv1: Conv Relu" and conv["algorithm"]
    assert (conv["dtype"], conv["shape"], conv["weights_shape"]) == ("f32", [2, 4, 8, 8], [4, 3, 3, 3])
    assert conv["flops"] == CONV_FLOPS
    assert conv["bytes"] >= 4 * (2 * 3 * 8 * 8 + 4 * 3 * 3 * 3 + 2 * 4 * 8 * 8)
    assert gemm["flops"] == GEMM_FLOPS and gemm["shape"] == [2, 5] and gemm["algorithm"].startswith("gemm")
    assert pool["flops"] is None and pool["bytes"] == 4 * (2 * 4 * 8 * 8 + 2 * 4)
    assert call_json("run", small)["profile"] is None


def test_two_threads(tmp_path):
    shape = [1, 16, 32, 32]
    weights = np.random.default_rng(1).standard_normal((16, 16, 3, 3)).astype(np.float32) / 12
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "conv1", pads=[1, 1, 1, 1])]
    model = save(
        tmp_path / "conv.onnx", nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)], [("w", weights)]
    )
    profile = profile_of(compile_model(model, "--backends", "halide", "--threads", "2"))
    check_sums(profile)
    conv = rows_by_node(profile)["conv1"]
    assert conv["flops"] == 2 * (16 * 32 * 32) * (16 * 3 * 3) and "threads by" in conv["algorithm"]


def test_kernels_beside_operators_of_a_framework(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    program = compile_model(
        model,
        "--backends",
        "halide,onnxruntime",
        "--pin",
        "conv1=onnxruntime@cpu",
        "--pin",
        "gemm1=halide@cpu",
    )
    profile = profile_of(program)
    check_sums(profile)
    rows = rows_by_node(profile)
    assert (rows["conv1"]["kind"], rows["conv1"]["target"]) == ("operator", "onnxruntime@cpu")
    assert rows["conv1"]["flops"] == CONV_FLOPS and rows["conv1"]["shape"] == [2, 4, 8, 8]
    assert (rows["gemm1"]["kind"], rows["gemm1"]["target"]) == ("kernel", "halide@cpu")
    text = call("run", program, "--profile", *RUNS).stdout
    assert "onnxruntime" in text and "backend" in text


def test_a_framework_names_operators_for_what_it_fused(tmp_path):
    """ONNX Runtime computes both convolutions with their Relu; one is in its own layout, named for the Relu's value."""
    random = np.random.default_rng(1)
    weights = [("w", random.standard_normal((32, 32, 3, 3)).astype(np.float32) / 16)]
    shape, nodes = [1, 32, 16, 16], []
    for i in range(2):
        nodes.append(helper.make_node("Conv", [f"v{i}", "w"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"v{i + 1}"], f"relu{i}"))
    model = save(tmp_path / "convs.onnx", nodes, [("v0", FLOAT, shape)], [("v2", FLOAT, shape)], weights)
    profile = profile_of(compile_model(model, "--backends", "onnxruntime"))
    check_sums(profile)
    rows = rows_by_node(profile)
    for i in range(2):
        assert rows[f"conv{i}"]["flops"] == 2 * (32 * 16 * 16) * (32 * 3 * 3)
        assert rows[f"conv{i}"]["shape"] == shape


def test_copies_between_devices(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    program = compile_model(
        model, "--backends", "halide", "-d", "cpu,accel=sim:0", "--pin", "gemm1=halide@accel"
    )
    profile = profile_of(program)
    kinds = {row["kind"] for row in profile["entries"]}
    assert kinds == {"kernel", "copy"}
    copy = next(row for row in profile["entries"] if row["kind"] == "copy")
    assert copy["nodes"] == [] and copy["name"].startswith("copying")
    assert copy["bytes"] == 2 * 4 * np.prod(copy["shape"]) and copy["gb_per_s"] > 0


def test_a_region_that_does_not_tell_its_parts_is_one_row(tmp_path):
    profile = profile_of(compile_small(tmp_path))
    (row,) = profile["entries"]
    assert row["kind"] == "region" and row["target"] == "reference@cpu"
    assert [node["name"] for node in row["nodes"]] == ["conv1", "relu1", "pool1", "flatten1", "gemm1"]
    assert row["flops"] == CONV_FLOPS + GEMM_FLOPS and row["shape"] is None and row["algorithm"] is None


def test_without_names(tmp_path):
    program = compile_model(save_small(tmp_path / "small.onnx"), "--backends", "halide", "--strip-names")
    profile = profile_of(program)
    check_sums(profile)
    assert all(row["nodes"] == [] for row in profile["entries"])
    assert {row["flops"] for row in profile["entries"]} == {CONV_FLOPS, GEMM_FLOPS, None}
    assert "small" not in str(profile) and "conv1" not in str(profile)


def test_an_alternative_where_the_library_is_missing(tmp_path):
    weights = [("w", np.random.default_rng(1).standard_normal((16, 16, 3, 3)).astype(np.float32) / 12)]
    shape = [1, 16, 32, 32]
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "conv1", pads=[1, 1, 1, 1])]
    model = save(tmp_path / "model.onnx", nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)], weights)
    program = model.with_suffix(".so")
    call(
        "compile", model, "-o", program, "--backends", "reference,onnxruntime", "--cache", tmp_path / "cache"
    )
    assert {row["kind"] for row in profile_of(program)["entries"]} == {"operator"}
    missing = {"INTARSIA_ONNXRUNTIME": str(tmp_path / "nothing.so")}
    (row,) = profile_of(program, env=missing)["entries"]
    assert (row["kind"], row["target"]) == ("region", "reference@cpu")
    assert row["flops"] == 2 * (16 * 32 * 32) * (16 * 3 * 3) and row["nodes"][0]["name"] == "conv1"


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A product of another size after the other, with long names."""
    nodes, weights, value, sizes = [], [], "x", list(range(10, 35))
    for before, after in itertools.pairwise(sizes):
        weights.append((f"w{after}", np.full((before, after), 1 / before, np.float32)))
        name = f"a/long/name/that/no/table/has/room/for/dense{after}"
        nodes.append(helper.make_node("MatMul", [value, f"w{after}"], [f"v{after}"], name))
        value = f"v{after}"
    folder = tmp_path_factory.mktemp("chain")
    model = save(
        folder / "chain.onnx", nodes, [("x", FLOAT, [4, sizes[0]])], [(value, FLOAT, [4, sizes[-1]])], weights
    )
    return compile_model(model, "--backends", "halide")


def test_the_table_fits_and_has_the_rows_that_take_most(chain):
    text = call("run", chain, "--profile", *RUNS).stdout
    table = text[text.index("kernel") :].splitlines()
    assert all(len(line) <= 80 for line in text.splitlines() if str(chain) not in line)
    assert len([line for line in table if "gemm" in line]) == 20 and "4 more" in text
    assert all("…/" in line and "/dense" in line and "GFLOP/s" in line for line in table[1:21])
    assert "GFLOP" in text and "between them" in text and "the run, the mean of the faster half of 20" in text
    every = call("run", chain, "--profile", "--all-rows", *RUNS).stdout
    assert every.count("gemm") == 24 and " more" not in every


def test_all_rows_is_for_profiles(chain):
    assert "--profile" in error_of("run", chain, "--all-rows", status=2)


def test_beside_a_dump_and_a_trace(small, tmp_path):
    """The runs of a profile are neither dumped nor in the trace."""
    alone = tmp_path / "alone.json"
    both = tmp_path / "both.json"
    call("run", small, "--trace", alone)
    report = call_json("run", small, "--profile", *RUNS, "--trace", both, "--dump", "*", "-o", tmp_path)
    assert report["profile"]["runs"] == 20 and report["trace"] == str(both)
    assert both.read_text().count('"dur"') == 20 * alone.read_text().count('"dur"')


def test_bench_profiles_our_side(small):
    quick = ("-t", "0.1", "--against", "onnxruntime")
    report = call_json("bench", small, "--profile", *quick)
    check_sums(report["profile"])
    assert rows_by_node(report["profile"])["conv1"]["flops"] == CONV_FLOPS
    assert report["alternative"]["number"] == 0
    assert call_json("bench", small, *quick)["profile"] is None
    text = call("bench", small, "--profile", *quick).stdout
    assert text.index("onnxruntime") < text.index("conv1") < text.index("between them")
