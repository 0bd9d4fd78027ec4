#!/bin/sh
# `make packages-browser`: Playwright in a virtual environment under build/, which drives Debian's Chromium.
set -eu
cd "$(dirname "$0")/../.."
venv=build/browser-venv

if ! [ -x $venv/bin/playwright ]; then
  rm -rf $venv
  mkdir -p build
  if ! { python3 -m venv $venv && $venv/bin/pip install --quiet 'playwright~=1.65'; } >build/browser-pip.log 2>&1; then
    rm -rf $venv
    echo "Playwright could not be installed with pip (no index to reach?), so the browser tests will be skipped: $(tail -n 1 build/browser-pip.log)"
  fi
fi
