# SPDX-License-Identifier: Apache-2.0
# Target `locks`: every file that takes a lock, compiled by clang for -Wthread-safety and linked to nothing. A third of the
# tree in a third of the time; `install_set` is the whole.
execute_process(COMMAND "${MILLPOND_PYTHON}" "${PROJECT_SOURCE_DIR}/tools/lock_users.py"
                OUTPUT_VARIABLE lock_users OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" lock_users "${lock_users}")
list(TRANSFORM lock_users PREPEND "${PROJECT_SOURCE_DIR}/")
add_library(locks OBJECT EXCLUDE_FROM_ALL ${lock_users})
target_link_libraries(locks PRIVATE mp_options)
target_include_directories(locks PRIVATE "${PROJECT_SOURCE_DIR}/include" "${MILLPOND_OPS_DIR}" "${MILLPOND_OPS_DIR}/include"
  "${MILLPOND_REPORT_DIR}" "${MILLPOND_CHECK_DIR}")
add_dependencies(locks op_tables check_rules)
