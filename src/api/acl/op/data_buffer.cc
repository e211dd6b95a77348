// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/op/data_buffer.h"

#include <new>

#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"

namespace {

using millpond::Ok;
using millpond::Status;
using millpond::acl::Guard;

Status CheckBuffer(const aclDataBuffer* buffer) {
  if (buffer == nullptr) return millpond::acl::NullPointer("dataBuffer");
  MP_REQUIRE(millpond::acl::IsAlive(buffer),
             "dataBuffer %p is not a live data buffer (destroyed twice, or not from aclCreateDataBuffer)",
             static_cast<const void*>(buffer));
  return Ok();
}

bool Readable(const char* api, const aclDataBuffer* buffer) {
  return Guard(api, [buffer] { return CheckBuffer(buffer); }) == ACL_SUCCESS;
}

}  // namespace

// (NULL, 0) is legal: an optional input that is absent, or an output the library shall allocate.
aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* buffer = nullptr;
  Guard("aclCreateDataBuffer", [&] {
    buffer = new aclDataBuffer{data, size, {}};
    return Ok();
  });
  return buffer;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return Guard("aclDestroyDataBuffer", [dataBuffer] {
    MP_RETURN_IF_ERROR(CheckBuffer(dataBuffer));
    return millpond::acl::Destroy("dataBuffer", dataBuffer);
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return Guard("aclUpdateDataBuffer", [=] {
    MP_RETURN_IF_ERROR(CheckBuffer(dataBuffer));
    dataBuffer->data = data;
    dataBuffer->length = size;
    return Ok();
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return Readable("aclGetDataBufferAddr", dataBuffer) ? dataBuffer->data : nullptr;
}

// Deprecated because it truncates: lengths above 4 GiB lose their upper half, as documented.
uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return Readable("aclGetDataBufferSize", dataBuffer) ? static_cast<uint32_t>(dataBuffer->length) : 0;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return Readable("aclGetDataBufferSizeV2", dataBuffer) ? dataBuffer->length : 0;
}
