#!/bin/sh
# Makes the models that README.md and `make demo` name, with seeded weights.
set -eu
cd "$(dirname "$0")/.."
echo "demo: ResNet50 as ONNX and a detector's head as a SavedModel, made with seeded weights"
build/venv/bin/python scripts/make_models.py --only resnet50
build/venv/bin/python scripts/make_tensorflow_models.py detector_head
