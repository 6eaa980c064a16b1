"""Pages of the API reference from C++ headers: what is public in the namespace, with the comments of the source and without the
bodies of functions."""

import re

OPENS_SCOPE = re.compile(r"^(?:template *<.*>\s*)?(?:class|struct|enum|union)\b[^()]*$", re.S)
NAMESPACE = re.compile(r"^(?:inline )?namespace\b *(\w*)")
LABEL = re.compile(r"^\s*(public|private|protected):\s*$", re.M)


def end_of_block(text, start):
    """Behind the `}` of the `{` at `start`; brackets in comments and strings do not count."""
    depth = 0
    for token in re.compile(r'//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[{}]').finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    raise ValueError("a block without an end")


def statement_end(text, start):
    """(position, character) of what ends the statement that begins here: `;`, or the `{` of a body or scope."""
    depth = 0
    for token in re.compile(r'//[^\n]*|"(?:\\.|[^"\\])*"|[(){};]').finditer(text, start):
        if token[0] in "()":
            depth += 1 if token[0] == "(" else -1
        elif depth == 0 and token[0] in "{;}":
            return token.start(), token[0]
    return len(text), ""


def cut_initializers(head):
    """A function's declaration, without what a constructor initializes."""
    close = re.search(r"\)\s*(?:const|noexcept|override|\s)*(:(?!:))", head)
    return (head[: close.start(1)] if close else head).rstrip()


def statements(text):
    """(comment, declaration) of one scope. Declarations of types keep their braces; bodies of functions are a `;`."""
    position, comment = 0, ""
    while position < len(text):
        space = re.compile(r"\s*").match(text, position)
        if space[0].count("\n") > 1:
            comment = ""
        position = space.end()
        line = re.compile(r"//[^\n]*\n|#[^\n]*\n|(?:public|private|protected):").match(text, position)
        if line:
            if line[0].startswith("//"):
                comment += line[0]
            elif line[0].endswith(":"):
                comment = ""
                yield "", line[0]
            position = line.end()
            continue
        if position == len(text):
            return
        end, ending = statement_end(text, position)
        head = text[position:end]
        if ending != "{":
            yield comment, head + ";"
            position = end + 1
        else:
            position, declaration = read_block(text, end, head)
            yield comment, declaration
        comment = ""
        trailing = re.compile(r"[ \t]*(//[^\n]*)").match(text, position)
        if trailing:
            yield "trailing", trailing[1]
            position = trailing.end()


def read_block(text, brace, head):
    """(where what follows begins, the declaration) of a head with a block behind it."""
    end = end_of_block(text, brace)
    if NAMESPACE.match(head) or OPENS_SCOPE.match(head):
        after = re.compile(r"\s*\w*\s*;?").match(text, end)
        stop = after.end() if not NAMESPACE.match(head) else end
        return stop, text[brace - len(head) : stop]
    if "(" in head and not re.search(r"(?<![=!<>])=(?!=)[^()]*$", head):
        while re.compile(r"\s*[,{]").match(text, end):  # that was the initializer of a member
            end = end_of_block(text, statement_end(text, end)[0])
        return end, cut_initializers(head) + ";"
    stop, ending = statement_end(text, end)
    while ending == "{":  # of the next variable
        stop, ending = statement_end(text, end_of_block(text, stop))
    return stop + 1, text[brace - len(head) : stop] + ";"


def body_of(declaration):
    brace = declaration.index("{")
    return declaration[:brace], declaration[brace + 1 : end_of_block(declaration, brace) - 1]


def interface(declaration):
    """A type's declaration with its public members only, by the indentation of the source."""
    if (
        not re.match(r"(?:template *<.*?>\s*)?(?:class|struct)\b", declaration, re.S)
        or "{" not in declaration
    ):
        return declaration
    head, body = body_of(declaration)
    public, lines = head.strip().split()[0] != "class", []
    for comment, member in statements(body):
        if member.endswith(":") and comment == "":
            public = member == "public:"
        elif public and comment == "trailing":
            lines[-1] += "  " + member
        elif public and not re.match(r"~|\w+\(const \w+&\) = delete|.*= default;$", member):
            lines += ["  " + line.strip() for line in comment.splitlines()]
            lines.append("  " + interface(member))
    return f"{head.rstrip()} {{\n" + "\n".join(lines) + "\n};"


def is_repeated(declaration):
    """A class that is only named, or a function of a class that is defined outside of it."""
    return bool(re.match(r"(?:class|struct) \w+;|[\w<>: ]* \w+::\w+\(", declaration))


def public_items(text):
    for comment, declaration in statements(text):
        space = NAMESPACE.match(declaration)
        if space and space[1] != "detail":
            yield from public_items(body_of(declaration)[1])
        elif not space and comment != "trailing" and not is_repeated(declaration):
            yield comment, interface(declaration)


def name_of(declaration):
    found = re.match(r"(?:template *<.*?>\s*)?(?:class|struct|enum|using) (\w+)", declaration, re.S)
    return found[1] if found else re.search(r"(\w+)\s*\(", declaration)[1]


def text_of(comment):
    return "\n".join(re.sub(r"^\s*/// ?", "", line) for line in comment.splitlines())


def write_intro(comment):
    """The comment at the head of a file; what is indented in it is code."""
    text = "\n".join(re.sub(r"^// ?", "", line) for line in comment.splitlines())
    return re.sub(
        r"(?:^  .*\n?)+",
        lambda code: "```cpp\n" + re.sub(r"^  ", "", code[0], flags=re.M).rstrip("\n") + "\n```\n",
        text,
        flags=re.M,
    )


def write_header(path):
    """A header as Markdown, below a title."""
    source = path.read_text()
    intro = re.match(r"(?://[^\n]*\n)+", source)[0]
    page = f"`#include <intarsia/{path.name}>`\n\n{write_intro(intro)}\n\n"
    for comment, declaration in public_items(source[len(intro) :]):
        page += f"### `{name_of(declaration)}`\n\n"
        page += f"{text_of(comment)}\n\n" if comment else ""
        page += f"```cpp\n{declaration}\n```\n\n"
    return re.sub(r"\n{3,}", "\n\n", page)
