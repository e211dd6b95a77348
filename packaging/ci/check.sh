#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program under `millpond check` on a CI machine, with its reports in a folder: for a plain shell job, an image, and action.yml.
#
#   check.sh PROGRAM ARGS...         such as: check.sh python -m pytest tests
#
#   MILLPOND_WHEEL     what pip installs where there is no `millpond` yet: a wheel's file or address, or a requirement
#   TORCH_CPU_INDEX    PyTorch's CPU index; with it, torch and torch_npu are installed too, torch from there alone
#   MILLPOND_REPORTS   folder of findings.sarif, findings.xml (JUnit) and findings.html; default millpond-reports
#   MILLPOND_OPTIONS   more options of `check`, such as --memory 4G
#
# Ends as the program does, or with 66 where it ended well and something was found.
set -eu
: "${MILLPOND_REPORTS:=millpond-reports}" "${MILLPOND_OPTIONS:=}" "${MILLPOND_WHEEL:=}" "${TORCH_CPU_INDEX:=}"
if [ $# -eq 0 ]; then
  echo "usage: check.sh PROGRAM ARGS..." >&2
  exit 2
fi
if ! command -v millpond >/dev/null; then
  if [ -z "$MILLPOND_WHEEL" ]; then
    echo "check.sh: no command millpond here, and MILLPOND_WHEEL does not say what to install" >&2
    exit 2
  fi
  python3 -m pip install "$MILLPOND_WHEEL"
fi
if [ -n "$TORCH_CPU_INDEX" ]; then
  # The pins are the wheel's own. pip takes a +cpu build for the plain version; torch_npu then finds it there.
  pins=$(python3 -c 'import importlib.metadata as m; print("\n".join(r.split(";")[0] for r in m.requires("millpond") if "torch" in r))')
  python3 -m pip install --index-url "$TORCH_CPU_INDEX" "$(echo "$pins" | grep '^torch==')"
  python3 -m pip install "$(echo "$pins" | grep '^torch_npu==')"
fi
mkdir -p "$MILLPOND_REPORTS"
# shellcheck disable=SC2086  # several options, separated by blanks
exec millpond check $MILLPOND_OPTIONS --sarif "$MILLPOND_REPORTS/findings.sarif" --junit "$MILLPOND_REPORTS/findings.xml" \
  --html "$MILLPOND_REPORTS/findings.html" -- "$@"
