# SPDX-License-Identifier: Apache-2.0
# libmillpond_check.so: the checker, opened by libmillpond when it is asked for and by nothing else.
set(MILLPOND_CHECK_DIR "${PROJECT_BINARY_DIR}/check")
set(check_rules "${MILLPOND_CHECK_DIR}/check_rules.inc")
set(check_tools "${PROJECT_SOURCE_DIR}/tools/gen_rules.py" "${PROJECT_SOURCE_DIR}/tools/rule_table.py")
file(MAKE_DIRECTORY "${MILLPOND_CHECK_DIR}")
add_custom_command(OUTPUT "${check_rules}"
  COMMAND ${MILLPOND_PYTHON} "${PROJECT_SOURCE_DIR}/tools/gen_rules.py" --header "${check_rules}"
  DEPENDS "${CMAKE_CURRENT_LIST_DIR}/rules.yaml" ${check_tools} VERBATIM)
add_custom_target(check_rules DEPENDS "${check_rules}")

mp_sources(check_sources check_tests check)
mp_library(millpond_check ${check_sources})
target_link_libraries(millpond_check PRIVATE millpond ${CMAKE_DL_LIBS})
target_include_directories(millpond_check PRIVATE "${MILLPOND_CHECK_DIR}")
add_dependencies(millpond_check check_rules)

# Rules one by one, without threads: TSan sees the checker under whole programs (tests/wrong), and these in ./millpond test --long.
if(NOT MILLPOND_SANITIZER STREQUAL "tsan" OR MILLPOND_TSAN_ALL)
  mp_units(check_test_units check_test ${check_tests})
  list(REMOVE_ITEM check_sources "${CMAKE_CURRENT_SOURCE_DIR}/check/start.cc")
  mp_test(check_test ${check_test_units} ${check_sources} LIBS millpond CORE)
  target_include_directories(check_test PRIVATE "${MILLPOND_CHECK_DIR}")
  add_dependencies(check_test check_rules)
endif()
