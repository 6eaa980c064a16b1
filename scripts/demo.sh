#!/bin/sh
# Compiles a real model for two devices, runs it, checks it, and draws its partition: build/demo/.
set -eu
cd "$(dirname "$0")/.."
intarsia=build/bin/intarsia
out=build/demo
mkdir -p $out

echo "demo: compile ResNet50, with one of its four stages on a second device"
$intarsia compile build/models/resnet50.onnx -o $out/resnet50.so -d cpu,accel=sim:0 --pin '*conv3_block*=halide@accel'

echo "demo: run it"
$intarsia run $out/resnet50.so -o $out

echo "demo: compare it with ONNX Runtime"
$intarsia check $out/resnet50.so

$intarsia explain $out/resnet50.so --dot $out/resnet50.dot --html $out/resnet50.html --nodes >$out/resnet50.txt
dot -Tpng $out/resnet50.dot -o $out/resnet50.png
echo "demo: done. The partition as a picture: $out/resnet50.png; what runs where and why: $out/resnet50.html"
