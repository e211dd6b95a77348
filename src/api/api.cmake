# SPDX-License-Identifier: Apache-2.0
# Which shim source is in which of CANN's libraries. src/api/acl is libascendcl unless listed here.
