# SPDX-License-Identifier: Apache-2.0
# The operator table becomes C++ at build time: rows for the core, entry points for libopapi, headers aclnnop/.
set(MILLPOND_OPS_DIR "${PROJECT_BINARY_DIR}/ops")
file(GLOB op_tables CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/ops/table/*.ops" "${CMAKE_CURRENT_SOURCE_DIR}/ops/table/*.tsv")
set(opapi_sources)
foreach(part RANGE 7)
  list(APPEND opapi_sources "${MILLPOND_OPS_DIR}/opapi_${part}.cc")
endforeach()
# Shapes in files are whatever someone wrote: sums and products of them wrap, and ge_infer.cc refuses what came of it.
file(GLOB infer_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/ops/infer*.cc")
mp_units(infer_units millpond_infer ${infer_sources})
set_source_files_properties(${infer_units} PROPERTIES COMPILE_OPTIONS -fwrapv)
set(op_generated "${MILLPOND_OPS_DIR}/op_rows.inc" "${MILLPOND_OPS_DIR}/ge_ops.inc" ${opapi_sources})
add_custom_command(
  OUTPUT "${MILLPOND_OPS_DIR}/stamp"
  BYPRODUCTS ${op_generated}
  COMMAND "${MILLPOND_PYTHON}" "${PROJECT_SOURCE_DIR}/tools/gen_ops.py"
          --table "${CMAKE_CURRENT_SOURCE_DIR}/ops/table" --output "${MILLPOND_OPS_DIR}"
  DEPENDS "${PROJECT_SOURCE_DIR}/tools/gen_ops.py" "${PROJECT_SOURCE_DIR}/tools/ge_table.py"
          "${PROJECT_SOURCE_DIR}/tools/op_row.py" "${PROJECT_SOURCE_DIR}/tools/op_kernels.py"
          "${PROJECT_SOURCE_DIR}/tools/op_types.py" ${op_tables}
  COMMENT "Generating operators from src/ops/table")
add_custom_target(op_tables DEPENDS "${MILLPOND_OPS_DIR}/stamp")
set_source_files_properties(${op_generated} PROPERTIES GENERATED TRUE)
