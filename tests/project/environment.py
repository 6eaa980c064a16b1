"""docs/environment_variables.md names every environment variable that the sources read or set, and no other.

Covers: docs/ environment_variables.md
"""

import re

from cli_models import SOURCE

PAGE = (SOURCE / "docs/environment_variables.md").read_text()
SHIPPED = ("src", "backends", "registry", "cli", "bindings", "include")
OURS = ("tests", "scripts")
CODE = (".cc", ".h", ".hpp", ".c", ".py", ".sh", ".txt")
READ = re.compile(
    r"""(?:getenv|setenv)\(\s*"(\w+)"|environ(?:\.get|\.pop|\.setdefault)?[(\[]\s*["'](\w+)["']"""
)
COMPUTED = re.compile(r"""(?:getenv|environ(?:\.get)?[(\[])\s*\(?\s*([a-z][\w.>-]*)\s*[)\],]""")
LIBRARY = re.compile(r'"(INTARSIA_[A-Z]+)",')  # of a ForeignLibrary, its member `variable`


def texts(folders):
    for folder in folders:
        for path in (SOURCE / folder).rglob("*"):
            if path.suffix in CODE and path.is_file():
                yield path, path.read_text(errors="replace")


def documented(*titles):
    """Variables in the first column of the tables below these titles."""
    names = set()
    for title in titles:
        section = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
        for row in re.findall(r"^\| (`.*?) \|", section, re.M):
            names |= set(re.findall(r"`(\w+)`", row))
    return names


def test_what_is_shipped():
    names, computed = {"PATH"}, set()  # PATH is read by posix_spawnp
    for _, text in texts(SHIPPED):
        names |= {one or other for one, other in READ.findall(text)} | set(LIBRARY.findall(text))
        computed |= set(COMPUTED.findall(text))
        if "temp_directory_path" in text:
            names.add("TMPDIR")
    assert computed == {"library.variable"}, "names that LIBRARY does not find"
    assert names == documented(
        "Read by the libraries, the command and the Python package", "Set by the command"
    )


def test_what_is_for_this_repository():
    known = "\n".join(text for path, text in texts(OURS) if path.name != "environment.py")
    names = documented("For building and testing this repository")
    assert len(names) > 5 and not [name for name in names if name not in known]
    read = {
        name
        for name in re.findall(r"getenv\(\"(INTARSIA_\w+)\"|environ(?:\.get)?[(\[]\"(INTARSIA_\w+)\"", known)
        for name in name
        if name
    }
    assert read <= names | documented("Read by the libraries, the command and the Python package")
