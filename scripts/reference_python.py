"""The page of the API reference from the Python package: what `__all__` lists, with signatures and docstrings as in the source.
Nothing is imported."""

import ast
import inspect
import re
import textwrap

SHOWN = ("__call__",)  # of the methods whose names begin with an underscore


def heads(node, source):
    """The text of a definition from its decorators to the colon."""
    lines = source.splitlines()
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    text = "\n".join(lines[first : node.body[0].lineno - 1]) or lines[first]
    kept = [line for line in textwrap.dedent(text).splitlines() if "@dataclass" not in line]
    return "\n".join(kept).rstrip().removesuffix(":")


def docstring(node):
    return inspect.cleandoc(ast.get_docstring(node, clean=False) or "")


def told(node):
    """The docstring as Markdown: lines that begin with a parameter are a list."""
    text = docstring(node)
    if isinstance(node, ast.FunctionDef):
        names = {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
        text = re.sub(
            r"^(\w+(?:, \w+)*): ",
            lambda line: f"- `{line[1]}`: " if set(line[1].split(", ")) <= names else line[0],
            text,
            flags=re.M,
        )
    return text + "\n\n" if text else ""


def write_definition(node, source, name, level):
    return f"{'#' * level} `{name}`\n\n```python\n{heads(node, source)}\n```\n\n{told(node)}"


def is_shown(member):
    """A method for users; a constructor is one if it says so."""
    if not isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return (
        not member.name.startswith("_")
        or member.name in SHOWN
        or bool(member.name == "__init__" and docstring(member))
    )


def write_class(node, source):
    text = write_definition(node, source, node.name, 3)
    fields = [
        ast.get_source_segment(source, member) for member in node.body if isinstance(member, ast.AnnAssign)
    ]
    if fields:
        text += "```python\n" + "\n".join(fields) + "\n```\n\n"
    for member in filter(is_shown, node.body):
        name = node.name if member.name == "__init__" else f"{node.name}.{member.name}"
        text += write_definition(member, source, name, 4)
    return text


def public_names(tree):
    """Of __init__.py, as `__all__` lists them."""
    [names] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    ]
    return names


def write_package(folder):
    """The package as Markdown, below a title: functions, classes, exceptions."""
    tree = ast.parse((folder / "__init__.py").read_text())
    names = public_names(tree)
    functions, classes, errors, types = {}, {}, {}, []
    for path in sorted(folder.glob("*.py")):
        source = path.read_text()
        for node in ast.parse(source).body:
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                types.append(ast.get_source_segment(source, node))
            if getattr(node, "name", None) not in names:
                continue
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = write_definition(node, source, node.name, 3)
            elif path.stem == "errors":
                errors[node.name] = write_class(node, source)
            else:
                classes[node.name] = write_class(node, source)
    missing = set(names) - {"version"} - functions.keys() - classes.keys() - errors.keys()
    if missing:
        raise SystemExit(f"no definition of {sorted(missing)} in {folder}")
    text = docstring(tree) + "\n\n"
    for title, found in (("Functions", functions), ("Classes", classes), ("Exceptions", errors)):
        text += f"## {title}\n\n" + "".join(found[name] for name in sorted(found, key=str.lower))
    return text + "## Types in signatures\n\n```python\n" + "\n".join(types) + "\n```\n"
