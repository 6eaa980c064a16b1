"""What the package tells type checkers: signatures with types and docstrings, stubs that say what the extension module has.

Covers: bindings/python/intarsia/ __init__.py options.py
"""

import ast
import inspect
import pathlib
import subprocess
import sys

import intarsia
import pytest

PACKAGE = pathlib.Path(intarsia.__file__).parent


def public_callables():
    """(name, function) of everything that is public, with the methods of classes."""
    for name in intarsia.__all__:
        one = getattr(intarsia, name)
        if inspect.isclass(one) and not issubclass(one, BaseException):
            for method, function in vars(one).items():
                function = function.fget if isinstance(function, property) else function
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function
            if inspect.isfunction(vars(one).get("__init__")):
                yield f"{name}.__init__", one.__init__
        elif inspect.isfunction(one):
            yield name, one


def test_all_that_is_public_is_listed():
    imported = {
        alias.asname or alias.name
        for node in ast.parse((PACKAGE / "__init__.py").read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(imported) == sorted(intarsia.__all__)
    assert {"bench", "split", "compile", "load"} <= set(intarsia.__all__)


def test_every_signature_is_explicit_typed_and_told():
    names = []
    for name, function in public_callables():
        names.append(name)
        signature = inspect.signature(function)
        parameters = [one for one in signature.parameters.values() if one.name != "self"]
        assert all(one.annotation is not inspect.Parameter.empty for one in parameters), name
        assert name.endswith("__init__") or signature.return_annotation is not inspect.Signature.empty, name
        assert inspect.Parameter.VAR_KEYWORD not in {one.kind for one in parameters}, name
    told = {"Program", "Session", "Pipeline", "PipelineBuilder", "Compiled"}
    for name in intarsia.__all__:
        assert name == "version" or inspect.getdoc(getattr(intarsia, name)), name
    for name, function in public_callables():
        plain = name.partition(".")[2] in ("functions", "inputs", "outputs", "__init__")
        assert plain or name.partition(".")[0] not in told or inspect.getdoc(function), name
    assert len(names) > 60


@pytest.mark.parametrize(
    "name", ["explain", "explain_html", "annotate", "check", "tune_pack", "emit_c", "rewrite"]
)
def test_options_are_those_of_compile(name):
    parameters = inspect.signature(getattr(intarsia, name)).parameters
    wanted = inspect.signature(intarsia.compile).parameters
    only_of_compile = [
        "save_plan",
        "strip_names",
        "dry_run",
        "print_after",
        "stop_after",
        "inputs",  # others have their own
        "progress",
        "print",
        "model",
    ]
    shared = [one for one in wanted if one not in only_of_compile]
    assert [one for one in parameters if one in shared] == shared
    for one in shared:
        assert parameters[one].default == wanted[one].default
        assert parameters[one].annotation == wanted[one].annotation


def test_bench_has_the_options_of_compile():
    missing = set(inspect.signature(intarsia.explain).parameters) - set(
        inspect.signature(intarsia.bench).parameters
    )
    assert missing == set()


def members(text):
    """{class or "": {name: number of arguments, None for a field}} of a stub."""

    def read(body):
        found = {}
        for node in body:
            if isinstance(node, ast.FunctionDef):
                decorators = [ast.unparse(one) for one in node.decorator_list]
                is_field = any(one == "property" or one.endswith(".setter") for one in decorators)
                arguments = node.args.posonlyargs + node.args.args
                found[node.name] = None if is_field else len(arguments)
            elif isinstance(node, ast.AnnAssign):
                found[node.target.id] = None
        return found

    tree = ast.parse(text)
    classes = {node.name: read(node.body) for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {k: v for k, v in read(tree.body).items() if v is not None}
    return {"": functions, **classes}


def test_the_stub_says_what_the_extension_module_has(tmp_path):
    """nanobind tells names and numbers of arguments; what tuples hold is told by hand."""
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "intarsia._intarsia"]
    subprocess.run([*command, "-o", tmp_path / "made.pyi"], check=True, timeout=60)
    assert members((PACKAGE / "_intarsia.pyi").read_text()) == members((tmp_path / "made.pyi").read_text())


def run_mypy(folder, *arguments):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder / "cache", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=PACKAGE.parent)


def test_the_package_keeps_its_types(tmp_path):
    assert (PACKAGE / "py.typed").exists()
    done = run_mypy(tmp_path, "-p", "intarsia")
    assert done.returncode == 0, done.stdout


USER = """
import pathlib, asyncio, numpy as np, onnx, intarsia
compiled = intarsia.compile(onnx.load("m.onnx"), devices=["cpu"], shapes={"x": (1, 2)}, tune="off")
with intarsia.compile(pathlib.Path("m.onnx").read_bytes(), devices="cpu") as other, other.load() as program:
    reveal_type(program)
program = intarsia.load(b"...")
y: np.ndarray = program(x=np.zeros(3))
z = program.bind().run({"x": [1.0]})["y"]
report = intarsia.bench(compiled, against="openvino", seconds=1)
async def serve() -> object: return await program.run_async({"x": z})
"""
WRONG = {
    'intarsia.compile("m.onnx", tune="sometimes")': 'Argument "tune"',
    'intarsia.compile("m.onnx", thread=2)': 'Unexpected keyword argument "thread"',
    "intarsia.load(3)": 'Argument 1 to "load"',
    'intarsia.explain("m.onnx", pins=["a"])': 'Argument "pins"',
}


def test_a_users_program_is_checked(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    done = run_mypy(tmp_path, tmp_path / "user.py")
    assert done.returncode == 0, done.stdout
    assert 'Revealed type is "intarsia.program.Program"' in done.stdout
    (tmp_path / "wrong.py").write_text("import intarsia\n" + "\n".join(WRONG) + "\n")
    faults = run_mypy(tmp_path, tmp_path / "wrong.py").stdout
    for line, message in enumerate(WRONG.values(), 2):
        assert f"wrong.py:{line}: error: {message}" in faults, faults
