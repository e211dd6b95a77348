#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh LIST LOG_FOLDER: makes sure that every Debian package named in the file LIST is installed.
# Plain sh, because it runs before there is a Python. Everything it says goes to standard error:
# the standard output of ./millpond belongs to the command (`env` is eval'ed).
# Without the rights or the network it names what is missing, how to install it, and exits 1.
set -eu

list=$1
log=$2/apt.log
say() { printf 'millpond: %s\n' "$*" >&2; }

wanted=$(sed -e 's/#.*//' "$list" | tr -s '[:space:]' ' ' | sed -e 's/^ //' -e 's/ $//')

if ! command -v dpkg-query >/dev/null 2>&1; then
  # Not Debian: names of packages mean nothing here, so the tools themselves are looked for.
  absent=
  for tool in g++ cmake ninja python3; do
    command -v "$tool" >/dev/null 2>&1 || absent="$absent $tool"
  done
  [ -z "$absent" ] && exit 0
  say "this is not a Debian system, and these tools are missing:$absent"
  say "install what Debian 12 calls: $wanted"
  exit 1
fi

# One dpkg-query for all names (13 ms); its exit status says only that some are unknown.
# shellcheck disable=SC2086
have=" $(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
  sed -n -e 's/:[a-z0-9]* installed$//p' -e 's/ installed$//p' | tr '\n' ' ') "
missing=
for package in $wanted; do
  case $have in
    *" $package "*) ;;
    *) missing="$missing $package" ;;
  esac
done
missing=${missing# }
[ -z "$missing" ] && exit 0

# shellcheck disable=SC2086
set -- $missing
count=$#
by_hand() {
  say "to install by hand, then run the same command again:"
  printf '    apt-get update && apt-get install -y --no-install-recommends %s\n' "$missing" >&2
}

say "missing Debian packages ($count): $missing"
if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1 && { { [ -t 0 ] && [ -t 2 ]; } || [ "${MILLPOND_SUDO:-}" = yes ]; }; then
  as_root=sudo
  say "sudo will run, as root:"
  printf '    apt-get update\n    apt-get install -y --no-install-recommends %s\n' "$missing" >&2
else
  say "installing them needs root; this is user '$(id -un)', and sudo is used with a terminal or with MILLPOND_SUDO=yes only"
  by_hand
  exit 1
fi

mkdir -p "$(dirname "$log")"
started=$(date +%s)
apt() {
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}
: >"$log"
say "installing them with apt-get (log: $log)"
# A failed update is not the end: the index on the machine may do.
apt update || say "apt-get update failed; trying with the package index that is here"
# shellcheck disable=SC2086
if ! apt install -y --no-install-recommends $missing; then
  tail -n 15 "$log" >&2
  say "apt-get could not install: $missing"
  by_hand
  exit 1
fi
say "installed in $(($(date +%s) - started)) s"
