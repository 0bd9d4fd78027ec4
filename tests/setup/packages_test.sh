#!/bin/sh
# cmake/install-packages.sh in the situations people meet, on a pretended machine: dpkg-query, id, sudo
# and apt-get are small scripts in a folder that is the whole PATH, so nothing real can be touched.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
script=$here/../../cmake/install-packages.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

cat >"$scratch/list" <<'END'
# a comment
[build]
alpha          # why
beta | gamma   # either
[test]
delta
END

pretend() { # pretend NAME SCRIPT
  printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

machine() { # machine UID "INSTALLED PACKAGES": a new one, with apt-get writing down what it was asked
  rm -rf "$scratch/bin" "$scratch/apt"
  mkdir "$scratch/bin"
  for tool in awk dirname env echo sed sh sort tr; do
    ln -s "$(command -v $tool)" "$scratch/bin/$tool"
  done
  pretend id "echo $1"
  pretend dpkg-query "for package in $2; do echo installed \$package; done; exit 1"
  pretend apt-get "echo \"\$*\" >>$scratch/apt"
  pretend sudo 'exit 1'
}

try() { # try SECTIONS…: status, output and what apt-get was asked
  status=0
  (PATH=$scratch/bin TWINRUN_PACKAGES=$scratch/list "$script" "$@") >"$scratch/out" 2>&1 </dev/null || status=$?
  output=$(cat "$scratch/out")
  asked=$(cat "$scratch/apt" 2>/dev/null || true)
}

expect() { # expect WHAT ACTUAL EXPECTED
  if [ "$2" != "$3" ]; then
    printf '%s:\n  expected: %s\n  got:      %s\n' "$1" "$3" "$2"
    failed=1
  fi
}

machine 1000 'alpha beta'
try build
expect 'all there: status' "$status" 0
expect 'all there: silent' "$output" ''

machine 1000 'alpha gamma'
try build
expect 'the alternative counts' "$status$output" 0

machine 1000 'alpha beta'
try build test
expect 'no root: status' "$status" 1
expect 'no root: the exact line' "$(echo "$output" | sed -n 2p)" \
  '  sudo apt-get install --no-install-recommends delta'
expect 'no root: one message' "$(echo "$output" | wc -l)" 2
expect 'no root: nothing half-done' "$asked" ''

machine 0 'delta'
try build test
expect 'root: status' "$status" 0
expect 'root: installs exactly what is missing' "$asked" 'update -q
install -q -y --no-install-recommends alpha beta'

machine 1000 ''
pretend sudo '[ "$1" != -n ] || shift; [ "$1" = true ] || exec "$@"'
try test
expect 'sudo: installs' "$asked" 'update -q
install -q -y --no-install-recommends delta'

machine 0 'alpha'
pretend apt-get 'exit 100'
try build
expect 'apt-get fails: so do we' "$status" 100

machine 1000 ''
rm "$scratch/bin/dpkg-query"
try build
expect 'not Debian: goes on' "$status" 0
expect 'not Debian: one line' "$output" 'not a Debian machine: going on, and CMake must find: alpha beta|gamma'

exit $failed
