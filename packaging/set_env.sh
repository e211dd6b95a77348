# SPDX-License-Identifier: Apache-2.0
# Source this file: . /path/to/set_env.sh   (sh, bash, zsh; also under set -eu). Sourcing it twice adds nothing.
# tools/cli/environment.py says the same for ./millpond run; tests/cli compares the two.
# shellcheck shell=sh disable=SC3028

# Where is this file? Each shell tells in its own way; plain sh not at all, but it keeps the file open.
_mp_file=${BASH_SOURCE:-}
if [ -n "${ZSH_VERSION:-}" ]; then
  eval '_mp_file=${(%):-%x}'
elif [ -z "$_mp_file" ]; then
  for _mp_open in "/proc/$$/fd"/*; do
    _mp_seen=$(readlink "$_mp_open" 2>/dev/null) || continue
    case $_mp_seen in
      */set_env.sh) _mp_file=$_mp_seen ;;
    esac
  done
  unset _mp_open _mp_seen
fi
if [ -n "$_mp_file" ] && _mp_home=$(CDPATH='' cd -- "$(dirname -- "$_mp_file")" 2>/dev/null && pwd -P); then
  # _mp_prepend NAME FOLDER: puts FOLDER first in the colon list NAME, once.
  _mp_prepend() {
    eval "_mp_rest=\":\${$1:-}:\""
    while :; do
      case $_mp_rest in
        *":$2:"*) _mp_rest="${_mp_rest%%":$2:"*}:${_mp_rest#*":$2:"}" ;;
        *) break ;;
      esac
    done
    _mp_rest=${_mp_rest#:}
    _mp_rest=${_mp_rest%:}
    if [ -n "$_mp_rest" ]; then _mp_rest="$2:$_mp_rest"; else _mp_rest=$2; fi
    eval "$1=\$_mp_rest"
    export "${1?}"
  }

  export ASCEND_HOME_PATH="$_mp_home"
  export ASCEND_TOOLKIT_HOME="$_mp_home"
  export ASCEND_AICPU_PATH="$_mp_home"
  export ASCEND_OPP_PATH="$_mp_home/opp"
  export TOOLCHAIN_HOME="$_mp_home/toolkit"
  _mp_prepend PATH "$_mp_home/bin"
  _mp_prepend LD_LIBRARY_PATH "$_mp_home/lib64"
  _mp_prepend PYTHONPATH "$_mp_home/python/site-packages"
  _mp_prepend CMAKE_PREFIX_PATH "$_mp_home/lib64/cmake"
  _mp_prepend PKG_CONFIG_PATH "$_mp_home/lib64/pkgconfig"
  unset _mp_file _mp_home _mp_rest
  unset -f _mp_prepend
else
  echo "set_env.sh: this shell does not tell where the file is; source it from bash or zsh, or set ASCEND_HOME_PATH by hand" >&2
  unset _mp_file
  return 1
fi
