#!/bin/sh
# The measured figures: docs/performance.md and the README's table. For an idle machine.
set -eu
cd "$(dirname "$0")/.."
exec build/venv/bin/python bench/report.py
