"""Inputs as .npz, raw bytes, PNG and JPEG: the same values as the arrays that were saved, and one clear error for damaged
files and files that do not fit.

Covers: cli/inputs/ input_file.cc model_inputs.cc npz.cc picture.cc picture_tensor.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save
from PIL import Image


def save_identity(path, shape, dtype=TensorProto.FLOAT, names=("x",)):
    return save(
        path,
        [helper.make_node("Identity", [name], [f"{name}_out"]) for name in names],
        [(name, dtype, shape) for name in names],
        [(f"{name}_out", dtype, shape) for name in names],
    )


def compile_identity(folder, *arguments, **options):
    program = folder / "identity.so"
    call(
        "compile",
        save_identity(folder / "identity.onnx", *arguments, **options),
        "-o",
        program,
        "--backends",
        "reference",
    )
    return program


def run_on(program, folder, *arguments):
    """The outputs by name, and the report."""
    report = call_json("run", program, *arguments, "-o", folder / "out")
    return {output["name"]: np.load(output["file"]) for output in report["outputs"]}, report


def test_npz(tmp_path):
    program = compile_identity(tmp_path, (2, 3), names=("a", "b"))
    a, b = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    for save_arrays in (np.savez, np.savez_compressed):
        save_arrays(tmp_path / "all.npz", a=a, b=b)
        outputs, _ = run_on(program, tmp_path, "-i", tmp_path / "all.npz")
        np.testing.assert_array_equal(outputs["a_out"], a)
        np.testing.assert_array_equal(outputs["b_out"], b)
    outputs, _ = run_on(program, tmp_path, "-i", f"a={tmp_path}/all.npz:b", "-i", f"b={tmp_path}/all.npz")
    np.testing.assert_array_equal(outputs["a_out"], b)
    np.testing.assert_array_equal(outputs["b_out"], b)
    call("check", tmp_path / "identity.onnx", "-i", tmp_path / "all.npz", "--against", "reference")
    message = error_of("run", program, "-i", f"a={tmp_path}/all.npz:c")
    assert "'c'" in message and "a, b" in message
    np.save(tmp_path / "a.npy", a)
    message = error_of("run", program, "-i", tmp_path / "a.npy", status=2)
    assert "NAME=FILE" in message and "a, b" in message


def test_damaged_npz(tmp_path):
    program = compile_identity(tmp_path, (40,))
    file = tmp_path / "x.npz"
    np.savez_compressed(file, x=np.arange(40, dtype=np.float32))
    whole = file.read_bytes()
    random = np.random.default_rng(1)
    for size in (0, 1, 2, 30, len(whole) // 2, len(whole) - 22):
        file.write_bytes(whole[:size])
        assert "x.npz" in error_of("run", program, "-i", f"x={file}")
    for _ in range(60):
        damaged = bytearray(whole)
        for at in random.integers(0, len(whole), 3):
            damaged[at] = random.integers(0, 256)
        file.write_bytes(damaged)
        try:  # a byte that nothing reads may have changed
            call("run", program, "-i", f"x={file}")
        except AssertionError:
            assert "x.npz" in error_of("run", program, "-i", f"x={file}")


def test_raw(tmp_path):
    program = compile_identity(tmp_path, (2, 3))
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for file in (tmp_path / "x.raw", tmp_path / "x.bin"):
        array.tofile(file)
        outputs, _ = run_on(program, tmp_path, "-i", file)
        np.testing.assert_array_equal(outputs["x_out"], array)
        call("check", tmp_path / "identity.onnx", "-i", f"x={file}", "--against", "reference")
    (tmp_path / "x.raw").write_bytes(bytes(23))
    for path in (program, tmp_path / "identity.onnx"):
        message = error_of("check", path, "-i", f"x={tmp_path / 'x.raw'}", "--against", "reference")
        assert all(word in message for word in ("x.raw", "23 bytes", "f32[2,3]", "want 24 bytes"))


def picture(width, height, channels=3):
    x, y = np.arange(width), np.arange(height)[:, None]
    planes = [(x * 5 + y * 3) % 256, (x * 2 + y * 7) % 256, (x + y) % 256, 255 - (x + y) % 99]
    return np.stack(planes[:channels], -1).astype(np.uint8)


@pytest.mark.parametrize("shape", [(1, 3, 20, 30), (1, 20, 30, 3), (3, 20, 30), (20, 30, 3)])
def test_pictures_of_any_layout(tmp_path, shape):
    pixels = picture(30, 20)
    Image.fromarray(pixels).save(tmp_path / "x.png")
    program = compile_identity(tmp_path, shape)
    outputs, report = run_on(
        program, tmp_path, "-i", tmp_path / "x.png", "--mean", "10,20,30", "--scale", "2"
    )
    want = (pixels - np.float64([10, 20, 30])) / 2
    channels_last = shape[-1] == 3
    want = want if channels_last else want.transpose(2, 0, 1)
    np.testing.assert_array_equal(outputs["x_out"], want.reshape(shape))
    layout = "channels last" if channels_last else "channels first"
    assert report["inputs"][0]["conversion"] == f"PNG 30x20, RGB, {layout}, (pixel - [10, 20, 30]) / 2"
    text = call("run", program, "-i", tmp_path / "x.png").stdout
    assert f"input  x: f32[{','.join(map(str, shape))}] (PNG 30x20, RGB, {layout}, pixels 0 to 255)" in text
    text = call("check", program, "-i", tmp_path / "x.png", "--against", "reference").stdout
    assert "(PNG 30x20, RGB" in text


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_and_u8(tmp_path, channels):
    pixels = picture(9, 7, channels)
    Image.fromarray(pixels.squeeze()).save(tmp_path / "x.png")
    program = compile_identity(tmp_path, (1, 7, 9, channels), TensorProto.UINT8)
    outputs, _ = run_on(program, tmp_path, "-i", tmp_path / "x.png")
    np.testing.assert_array_equal(outputs["x_out"][0], pixels)
    assert "leave out" in error_of("run", program, "-i", tmp_path / "x.png", "--mean", "1", status=2)


def test_jpeg_and_resize(tmp_path):
    Image.fromarray(picture(64, 48)).save(tmp_path / "x.jpg", quality=90)
    decoded = Image.open(tmp_path / "x.jpg")
    whole = compile_identity(tmp_path, (1, 48, 64, 3))
    outputs, _ = run_on(whole, tmp_path, "-i", tmp_path / "x.jpg")
    assert np.abs(outputs["x_out"][0] - np.asarray(decoded)).max() <= 2
    small = compile_identity(tmp_path, (1, 3, 24, 32))
    message = error_of("run", small, "-i", tmp_path / "x.jpg")
    assert "64x48" in message and "32x24" in message and "--resize" in message
    outputs, report = run_on(small, tmp_path, "-i", tmp_path / "x.jpg", "--resize")
    want = np.asarray(decoded.resize((32, 24), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    assert np.abs(outputs["x_out"][0] - want)[:, 1:-1, 1:-1].max() <= 3
    assert "JPEG 64x48, resized to 32x24, RGB" in report["inputs"][0]["conversion"]


def test_inputs_that_take_no_picture(tmp_path):
    Image.fromarray(picture(5, 5)).save(tmp_path / "x.png")
    for shape, dtype, words in (
        ((10,), TensorProto.FLOAT, "[1,H,W,C]"),
        ((2, 5, 5, 3), TensorProto.FLOAT, "[1,H,W,C]"),
        ((5, 5, 3), TensorProto.INT64, "f32, f64 or u8"),
    ):
        program = compile_identity(tmp_path, shape, dtype)
        message = error_of("run", program, "-i", tmp_path / "x.png")
        assert words in message and "x.png" in message and "'x'" in message
    program = compile_identity(tmp_path, (5, 5, 3))
    assert "--mean" in error_of("run", program, "-i", tmp_path / "x.png", "--mean", "1,2", status=2)
    assert "--scale" in error_of("run", program, "-i", tmp_path / "x.png", "--scale", "0", status=2)


@pytest.mark.parametrize("format", ["png", "jpg"])
def test_damaged_pictures(tmp_path, format):
    program = compile_identity(tmp_path, (20, 30, 3))
    file = tmp_path / f"x.{format}"
    Image.fromarray(picture(30, 20)).save(file)
    whole = file.read_bytes()
    for size in (0, 2, 3, 8, 20, len(whole) // 2, len(whole) - 20):
        file.write_bytes(whole[:size])
        assert file.name in error_of("run", program, "-i", file)
    random = np.random.default_rng(2)
    for _ in range(60):
        damaged = bytearray(whole)
        for at in random.integers(0, len(whole), 3):
            damaged[at] = random.integers(0, 256)
        file.write_bytes(damaged)
        try:  # other pixels are no damage that can be seen
            call("run", program, "-i", file)
        except AssertionError:
            assert file.name in error_of("run", program, "-i", file)
    if format == "png":  # a header that claims more pixels than fit into memory
        file.write_bytes(whole[:16] + b"\x00\x0f\x00\x00\x00\x0f\x00\x00" + whole[24:])
        assert file.name in error_of("run", program, "-i", file)
