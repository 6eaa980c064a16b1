"""Pages of the API reference from C headers: a section for each `/* ---- Title ---- */`, below it each comment with the declarations
that follow it up to an empty line."""

import os
import re
import textwrap

COMMENT = re.compile(r"/\*.*?\*/", re.S)
TITLE = re.compile(r"/\* ---- (.+?) ----(.*)\*/", re.S)
NAME = re.compile(
    r"#define (\w+)|^typedef (?:struct|enum) \w+ \{.*\} (\w+);|^typedef .*?\(\*(\w+)\)|^typedef .*?(\w+);|(\w+)\(",
    re.S,
)
KEPT_MACRO = re.compile(r"#define INTARSIA_\w+ +(?!__attribute__)\S+$")


def prose(comment):
    """The text of a comment as Markdown. Lists stay lists."""
    lines, in_item = [], False
    for line in comment[2:-2].strip().splitlines():
        line = re.sub(r"^ ?\* ?", "", line).rstrip()
        if line.lstrip().startswith("- "):
            if lines and lines[-1] and not in_item:
                lines.append("")
            in_item = True
            lines.append(line.lstrip())
        else:
            in_item = in_item and bool(line)
            lines.append(("  " if in_item else "") + line.lstrip())
    return re.sub(r"([*<])", r"\\\1", "\n".join(lines).strip())


def remove_preprocessor(text):
    """Only macros with a value of ours stay, none of what guards or exports."""
    kept = [
        line
        for line in re.sub(
            r"/\*.*?\*/", lambda comment: comment[0].replace("\n#", "\n #"), text, flags=re.S
        ).splitlines()
        if not line.startswith(("#", 'extern "C"', "}  /* extern", "} /* extern", "__attribute__"))
        or KEPT_MACRO.match(line)
    ]
    return "\n".join(kept)


def declaration_end(text, start):
    """Behind the `;` that ends a declaration, or behind the line of a macro."""
    if text.startswith("#", start):
        return text.find("\n", start)
    depth = 0
    without_comments = COMMENT.sub(lambda comment: " " * len(comment[0]), text)
    for position in range(start, len(text)):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(without_comments[position], 0)
        if without_comments[position] == ";" and depth == 0:
            break
    rest = text.find("\n", position)
    return len(text) if rest < 0 else rest


def items(text):
    """("comment", text), ("declaration", text) and ("gap", "") in the order of the header."""
    position = 0
    while position < len(text):
        space = re.compile(r"\s*").match(text, position)
        if space[0].count("\n") > 1:
            yield "gap", ""
        position = space.end()
        if position == len(text):
            return
        comment = COMMENT.match(text, position)
        if comment:
            yield "comment", comment[0]
            position = comment.end()
        elif text[position] == "}":  # of extern "C"
            position += 1
        else:
            end = declaration_end(text, position)
            yield "declaration", text[position:end]
            position = end


def tidy(declaration):
    """Without the macro that exports it; its other lines move as far to the left as the first."""
    prefix = "INTARSIA_EXPORT "
    if not declaration.startswith(prefix):
        return declaration
    first, _, rest = declaration[len(prefix) :].partition("\n")
    moved = "\n".join(line.removeprefix(" " * len(prefix)) for line in rest.splitlines())
    return first + ("\n" + moved if rest else "")


def name_of(declaration):
    if declaration.startswith("enum {"):
        return os.path.commonprefix(re.findall(r"(\w+) =", declaration)) + "..."
    return next(name for name in NAME.search(declaration).groups() if name)


def write_group(comment, declarations):
    if not declarations:
        return f"{comment}\n\n" if comment else ""
    names = ", ".join(f"`{name_of(one)}`" for one in declarations)
    code = "\n".join(tidy(one) for one in declarations)
    return f"### {names}\n\n" + (f"{comment}\n\n" if comment else "") + f"```c\n{code}\n```\n\n"


def write_header(path):
    """A header as Markdown, below a title of level 1 or 2."""
    text = remove_preprocessor(path.read_text())
    page, comment, declarations = f"`#include <intarsia/{path.name}>`\n\n", "", []
    for kind, content in [*items(text), ("gap", "")]:
        if kind == "declaration":
            declarations.append(content)
            continue
        if kind == "gap" and not declarations and not comment:
            continue
        page += write_group(comment, declarations)
        comment, declarations = "", []
        title = TITLE.fullmatch(content) if kind == "comment" else None
        if title:
            page += f"## {title[1]}\n\n"
            comment = textwrap.dedent(prose(f"/*{title[2]}*/")) if title[2].strip() else ""
        elif kind == "comment":
            comment = prose(content)
    return page
