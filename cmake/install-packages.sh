#!/bin/sh
# install-packages.sh SECTION…: makes sure the Debian packages of those sections of debian-packages.txt
# are there. Silent and quick when they are. TWINRUN_PACKAGES names another list (the tests use it).
set -eu

list=${TWINRUN_PACKAGES:-$(dirname "$0")/debian-packages.txt}

# The packages of the wanted sections, one "name" or "name|other" a line.
wanted=$(awk -v sections=" $* " '
  { sub(/#.*/, ""); gsub(/[ \t]/, "") }
  /^\[/ { inside = index(sections, " " substr($0, 2, length($0) - 2) " ") }
  inside && NF && !/^\[/' "$list" | sort -u)

if ! command -v dpkg-query >/dev/null; then
  echo "not a Debian machine: going on, and CMake must find:" $wanted >&2
  exit 0
fi

# One dpkg-query for all names; it complains about unknown ones, which is the answer we want.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(echo "$wanted" | tr '|' ' ') 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=$({ echo "$installed"; echo ==; echo "$wanted"; } | awk -F '|' '
  $0 == "==" { asking = 1; next }
  !asking { have[$0]; next }
  { for (i = 1; i <= NF; ++i) if ($i in have) next; print $1 }')
if [ -z "$missing" ]; then
  exit 0
fi
missing=$(echo $missing)

if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
  as_root=sudo
else
  echo "twinrun needs Debian packages that are not installed, and this is not root. Run, then try again:
  sudo apt-get install --no-install-recommends $missing" >&2
  exit 1
fi
echo "installing Debian packages: $missing" >&2
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
