#!/bin/sh
# The measurements: docs/performance.md, docs/gaps.md and the README's table. For an idle machine.
set -eu
cd "$(dirname "$0")/.."
build/venv/bin/python bench/report.py
build/venv/bin/python bench/shipped.py --document
build/venv/bin/python bench/gap_table.py
build/venv/bin/python bench/held.py --document
build/venv/bin/python bench/open_sizes.py
build/venv/bin/python bench/size_sweeps.py
build/venv/bin/python bench/open_models.py
build/venv/bin/python bench/open_counts.py
build/venv/bin/python bench/precision.py
build/venv/bin/python bench/quantized.py
