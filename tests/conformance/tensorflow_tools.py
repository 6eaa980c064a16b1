"""The models of scripts/make_tensorflow_models.py: their stored inputs and outputs, compiling, running, comparing."""

import pathlib

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = SOURCE / "build/models/tensorflow"
ATOL = 1e-6


def model_path(name):
    frozen = MODELS / f"{name}.pb"
    return frozen if frozen.exists() else MODELS / name


def stored(name, kind, signature=None):
    """{name: array} of the only signature, or the named one; kind is `inputs` or `expected`."""
    with np.load(MODELS / f"{name}.{kind}.npz") as file:
        keys = [key.split("/", 1) for key in file]
        only = signature or keys[0][0]
        return {key: file[f"{only}/{key}"] for of, key in keys if of == only}


def signatures(name):
    with np.load(MODELS / f"{name}.inputs.npz") as file:
        return sorted({key.split("/", 1)[0] for key in file})


def op_libraries(name):
    library = MODELS / f"{name}.so"
    return [library] if library.exists() else []


def command_options(name, signature):
    """What `compile` and `check` need to know besides the model."""
    options = ["--tune", "off"]
    for key, value in stored(name, "inputs", signature).items():
        options += ["--shape", f"{key}={'x'.join(map(str, value.shape)) or 'scalar'}"]
    if model_path(name).is_dir():
        options += ["--signature", signature]
    for library in op_libraries(name):
        options += ["--op-library", library]
    return options


def python_options(name, signature):
    """The same for the Python package."""
    options = {
        "tune": "off",
        "shapes": {key: value.shape for key, value in stored(name, "inputs", signature).items()},
    }
    if model_path(name).is_dir():
        options["signature"] = signature
    return options | ({"op_libraries": op_libraries(name)} if op_libraries(name) else {})


def save_inputs(inputs, folder):
    """A .npy file for each input; returns the options -i NAME=FILE."""
    options = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        options += ["-i", f"{name}={folder / name}.npy"]
    return options


def difference(got, want, rtol, atol=ATOL, each=False):
    """Empty when they agree, else why not: floats differ by at most atol + rtol * max|want|, or rtol * |want| for `each`
    element (both may be NaN, or the same infinity), everything else is equal."""
    got = np.asarray(got)
    if got.dtype.kind in "OSU" or want.dtype.kind in "OSU":

        def as_bytes(value):
            return value if isinstance(value, bytes) else str(value).encode(errors="surrogateescape")

        same = got.shape == want.shape and [*map(as_bytes, got.reshape(-1).tolist())] == [
            *map(as_bytes, want.reshape(-1).tolist())
        ]
        return "" if same else f"strings differ: {got!r:.200} instead of {want!r:.200}"
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype.kind not in "fc":
        bad = got != want
    else:
        finite = np.isfinite(want)
        sizes = np.abs(want.astype(np.complex128))
        scale = sizes if each else sizes[finite].max(initial=0)
        equal = (got == want) | (np.isnan(got) & np.isnan(want))
        with np.errstate(all="ignore"):
            bad = ~(equal | (finite & (np.abs(got.astype(np.complex128) - want) <= atol + rtol * scale)))
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {want.size} differ, first {got[at]} instead of {want[at]} at {at}"


def assert_same(got, want, rtol):
    assert set(got) == set(want)
    faults = [
        f"{name}: {text}" for name, value in want.items() if (text := difference(got[name], value, rtol))
    ]
    assert not faults, "\n".join(faults)


def compile_here(name, signature=None, **options):
    """A model compiled in this process by the Python package."""
    import intarsia

    signature = signature or signatures(name)[0]
    return intarsia.compile(model_path(name), **python_options(name, signature), **options)


def check_here(name, session, rtol=1e-4, signature=None):
    """A session of this process on the stored inputs."""
    assert_same(session.run(stored(name, "inputs", signature)), stored(name, "expected", signature), rtol)
