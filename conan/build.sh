#!/bin/sh
# `make conan`: the build and its tests with Conan resolving the dependencies, and no package centre. Conan
# lives in a virtual environment and keeps its home under build/, so nothing outside the tree is touched.
set -eu
cd "$(dirname "$0")/.."
build=build/conan
venv=build/conan-venv
export CONAN_HOME="$PWD/build/conan-home"

if ! [ -x $venv/bin/conan ]; then
  rm -rf $venv
  mkdir -p build
  if ! { python3 -m venv $venv && $venv/bin/pip install --quiet 'conan~=2.34'; } >build/conan-pip.log 2>&1; then
    rm -rf $venv
    echo "skipped: Conan could not be installed with pip (no index to reach?): $(tail -n 1 build/conan-pip.log)"
    exit 0
  fi
fi
$venv/bin/conan --version

$venv/bin/conan install . --no-remote --profile:all conan/profiles/debian --output-folder $build/generators
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DTWINRUN_BUILD_BENCH=ON -DTWINRUN_WERROR="${WERROR:-OFF}" \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/$build/generators/conan_toolchain.cmake"
cmake --build $build -j "${JOBS:-2}"
# What is slow has run in the release build: the same files, the same flags.
ctest --test-dir $build --output-on-failure --no-tests=error -j "${JOBS:-2}" -L '^unit$'
