# SPDX-License-Identifier: Apache-2.0
# The older name under which CANN samples source the environment; set_env.sh does the work.
# shellcheck source=/dev/null
. "$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)/../set_env.sh"
