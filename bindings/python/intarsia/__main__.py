"""Command `intarsia`, also as `python -m intarsia`: replaces the process by the executable in the package."""

import os
import pathlib
import sys


def main() -> None:
    os.execv(pathlib.Path(__file__).parent / "bin" / "intarsia", ["intarsia", *sys.argv[1:]])


if __name__ == "__main__":
    main()
