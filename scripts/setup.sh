#!/bin/sh
# Prepares a Debian 12 machine: the packages of packages.txt, and build/venv with the wheels that requirements.txt and
# constraints.txt pin. Does nothing when all is there. PYTHON=... names the Python to use instead of the first python3.
#   scripts/setup.sh           everything
#   scripts/setup.sh build     only what compiling needs; the rest can be installed meanwhile
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
venv=$root/build/venv
stamp=$root/build/venv.stamp
build_stamp=$root/build/venv-build.stamp
bytecode_stamp=$root/build/venv-bytecode.stamp
log=$root/build/setup.log

fail() {
    echo "error: $*" >&2
    exit 1
}

# Runs a command with its output in the log, whose end is shown if the command fails.
quietly() {
    "$@" >>"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        fail "'$*' failed; its whole output is in $log"
    }
}

# The packages of packages.txt that are not installed.
missing_packages() {
    wanted=$(grep -v '^#' "$root/packages.txt")
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p')
    printf '%s\n' $wanted | grep -vxF -e "$installed" | xargs
}

install_packages() {
    if ! command -v dpkg-query >/dev/null; then
        echo "setup: this is not Debian; make sure that what packages.txt names is installed" >&2
        return
    fi
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0

    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        fail "these Debian packages are missing, and only root can install them: apt-get install $missing"
    fi
    echo "setup: installing the Debian packages $missing"
    install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing"
    # Fails if the package lists are absent or too old.
    $install >>"$log" 2>&1 && return
    quietly $as_root apt-get update
    quietly $install
}

# The first Python that is new enough and can create environments.
find_python() {
    for candidate in ${PYTHON:-python3 /usr/bin/python3}; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer with venv among: ${PYTHON:-python3 /usr/bin/python3}; name one with PYTHON=..."
}

# What build/venv was made from. The path is part of it, because an environment cannot be moved.
fingerprint() {
    echo "$venv"
    cat "$root/requirements.txt" "$root/constraints.txt" | sha256sum
}

make_venv() {
    if ! grep -qs "^command = .* $venv\$" "$venv/pyvenv.cfg" || ! [ -x "$venv/bin/python" ]; then
        python=$(find_python)
        echo "setup: creating build/venv with $python"
        quietly "$python" -m venv --clear "$venv"
    fi
}

# install_wheels STAMP LABEL PIP-ARGUMENTS...: once for each fingerprint.
install_wheels() {
    wanted_stamp=$1
    label=$2
    shift 2
    if [ -x "$venv/bin/python" ] && [ "$(cat "$wanted_stamp" 2>/dev/null)" = "$(fingerprint)" ]; then
        return
    fi
    rm -f "$wanted_stamp"
    make_venv
    echo "setup: installing $label"
    # Python compiles what it imports, which is a small part of all wheels: keep_bytecode.
    quietly "$venv/bin/python" -m pip install --no-compile --disable-pip-version-check --no-input "$@" \
        -c "$root/constraints.txt"
    fingerprint >"$wanted_stamp"
}

# Compiles what most processes import: Python does so each time where it may not write
# (PYTHONDONTWRITEBYTECODE), which takes longer than the import itself.
keep_bytecode() {
    quietly env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" -c \
        'import keras, matplotlib.pyplot, onnx, onnxruntime, openvino, pytest, tensorflow, tf2onnx'
    touch "$bytecode_stamp"
}

mkdir -p "$root/build"
: >>"$log"
install_packages
install_wheels "$build_stamp" "the wheels that compiling needs" $(grep -E '^(halide|nanobind)==' "$root/requirements.txt")
if [ "${1:-all}" != build ]; then
    install_wheels "$stamp" "the wheels of requirements.txt" -r "$root/requirements.txt"
    [ "$bytecode_stamp" -nt "$stamp" ] || keep_bytecode
fi
