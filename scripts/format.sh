#!/bin/sh
# Formats every C, C++ and Python source file, with the versions that requirements.txt pins. With --check it changes
# nothing and fails where a file would change.
set -eu
cd "$(dirname "$0")/.."
tools=build/venv/bin
folders="src backends registry cli bindings include tests bench examples scripts"

sources() { find $folders -name '*.cc' -o -name '*.h' -o -name '*.hpp' -o -name '*.c'; }

case "${1:-}" in
--check)
    sources | xargs "$tools/clang-format" --style=file --dry-run --Werror
    "$tools/ruff" format --quiet --no-cache --check $folders
    ;;
"")
    sources | xargs "$tools/clang-format" --style=file -i
    "$tools/ruff" format --quiet --no-cache $folders
    ;;
*)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac
