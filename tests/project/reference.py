"""What scripts/write_api_reference.py makes of headers and of the package: every declaration with its comment, nothing of what is
hidden. The test `api_reference` says whether the pages are up to date.

Covers: scripts/ write_api_reference.py reference_c.py reference_cpp.py reference_python.py
"""

import sys

import pytest
from cli_models import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import reference_c  # noqa: E402
import reference_cpp  # noqa: E402
import reference_python  # noqa: E402
import write_api_reference  # noqa: E402


def test_c(tmp_path):
    """Comments go with all declarations up to an empty line; semicolons and braces in them end nothing."""
    (tmp_path / "small.h").write_text("""/* Head.
 *
 *  - one,
 *    and its end
 *  - two */

#ifndef SMALL_H_
#define SMALL_H_
#define INTARSIA_EXPORT __attribute__((visibility("default")))
#define INTARSIA_ABI 1

/* ---- Things ---- */

/* A pair. */
typedef struct pair {
  int a; /* its {first; */
  int (*call)(int);
} pair;

/* Both of
 * them. */
INTARSIA_EXPORT int one(const pair* p,
                        int n);
INTARSIA_EXPORT int two(void);
/* Another. */
INTARSIA_EXPORT void three(void);
#endif
""")
    page = reference_c.write_header(tmp_path / "small.h")
    assert "Head.\n\n- one,\n  and its end\n- two\n" in page
    assert "### `INTARSIA_ABI`" in page and "visibility" not in page and "#ifndef" not in page
    assert (
        "## Things\n\n### `pair`\n\nA pair.\n\n```c\ntypedef struct pair {\n  int a; /* its {first; */"
        in page
    )
    assert (
        "### `one`, `two`\n\nBoth of\nthem.\n\n```c\nint one(const pair* p,\n        int n);\nint two(void);\n```"
        in page
    )
    assert "### `three`\n\nAnother.\n" in page


def test_cpp(tmp_path):
    (tmp_path / "small.hpp").write_text("""// Head:
//
//   run();
#pragma once
namespace intarsia {
namespace detail {
inline int hidden() { return 1; }
}  // namespace detail

class Named;

/// Of two.
class Shown : public Base {
 public:
  explicit Shown(int a = {}) : a_(a), b_{a} {}
  ~Shown() { give("}"); }
  Shown(const Shown&) = delete;
  /// Its sum.
  int sum() const { return a_ + b_; }
  int open = 1, shut{};  // both

 private:
  int secret() { return 2; }
  int a_, b_;
};

inline int Shown::later() { return 3; }
}  // namespace intarsia
""")
    page = reference_cpp.write_header(tmp_path / "small.hpp")
    assert "Head:\n\n```cpp\nrun();\n```\n" in page
    assert page.endswith("""### `Shown`

Of two.

```cpp
class Shown : public Base {
  explicit Shown(int a = {});
  /// Its sum.
  int sum() const;
  int open = 1, shut{};  // both
};
```

""")
    assert not [word for word in ("hidden", "secret", "later", "a_", "`Named`") if word in page]


def test_python(tmp_path):
    (tmp_path / "__init__.py").write_text('"""A package."""\n__all__ = ["double", "Thing"]\n')
    (tmp_path / "things.py").write_text('''class Thing:
    """One of them."""

    size: int

    def __init__(self, secret):
        self.secret = secret

    @property
    def name(self) -> str:
        """What it is called."""

    def _hidden(self): ...


def double(
    value: int,
) -> int:
    """Twice.

    value: a number,
        of any size.
    note: not a parameter.
    """
    return 2 * value
''')
    page = reference_python.write_package(tmp_path)
    assert "### `double`\n\n```python\ndef double(\n    value: int,\n) -> int\n```\n\nTwice.\n" in page
    assert "- `value`: a number,\n    of any size.\nnote: not" in page
    assert "```python\nsize: int\n```" in page and "@property\ndef name(self) -> str\n```\n\nWhat" in page
    assert "secret" not in page and "_hidden" not in page
    (tmp_path / "__init__.py").write_text('"""A package."""\n__all__ = ["double", "Gone"]\n')
    with pytest.raises(SystemExit, match="Gone"):
        reference_python.write_package(tmp_path)


def test_everything_that_headers_export_is_on_the_pages(monkeypatch):
    pages = write_api_reference.write_pages()
    assert {"`intarsia_compile`", "`intarsia_session_run`", "`intarsia_pipeline_push`"} <= set(
        pages["c.md"].replace(",", "").split()
    )
    monkeypatch.setattr(reference_c, "write_group", lambda comment, declarations: "")
    with pytest.raises(SystemExit, match="intarsia_session_run"):
        write_api_reference.write_pages()
