// SPDX-License-Identifier: Apache-2.0
// Scalars, arrays and lists of aclnn: the values are copied, the members of lists belong to the list.
#include <cstring>

#include "include/aclnn/acl_meta.h"
#include "src/api/aclnn/objects.h"
#include "src/base/format.h"
#include "src/base/half.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

namespace {

template <class T>
T Load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Status Read(const void* from, DType type, ScalarValue* out) {
  *out = ScalarValue();
  out->dtype = type;
  switch (type) {
    case DType::kBool:
      out->integer = Load<uint8_t>(from) != 0;
      return Ok();
    case DType::kInt8:
      out->integer = Load<int8_t>(from);
      return Ok();
    case DType::kUint8:
      out->integer = Load<uint8_t>(from);
      return Ok();
    case DType::kInt16:
      out->integer = Load<int16_t>(from);
      return Ok();
    case DType::kUint16:
      out->integer = Load<uint16_t>(from);
      return Ok();
    case DType::kInt32:
      out->integer = Load<int32_t>(from);
      return Ok();
    case DType::kUint32:
      out->integer = Load<uint32_t>(from);
      return Ok();
    case DType::kInt64:
    case DType::kUint64:
      out->integer = Load<int64_t>(from);
      return Ok();
    case DType::kFloat:
      out->real = Load<float>(from);
      return Ok();
    case DType::kHalf:
      out->real = FloatFromHalf(Load<uint16_t>(from));
      return Ok();
    case DType::kBfloat16:
      out->real = FloatFromBfloat16(Load<uint16_t>(from));
      return Ok();
    case DType::kDouble:
      out->real = Load<double>(from);
      return Ok();
    case DType::kComplex64:
      out->real = Load<float>(from);
      out->imaginary = Load<float>(static_cast<const std::byte*>(from) + sizeof(float));
      return Ok();
    case DType::kComplex128:
      out->real = Load<double>(from);
      out->imaginary = Load<double>(static_cast<const std::byte*>(from) + sizeof(double));
      return Ok();
    default:
      return InvalidArgument(Format("dataType %d (%s) cannot be a scalar", static_cast<int>(type), DTypeName(type)));
  }
}

template <class Array, class T>
Array* CreateArray(const char* api, const T* values, uint64_t size) {
  return GuardedCreate<Array>(api, [&](Array* array) -> Status {
    MP_REQUIRE(values != nullptr || size == 0, "value is NULL though size is %llu",
               static_cast<unsigned long long>(size));
    array->values.assign(values, values + size);
    return Ok();
  });
}

template <class List, class T>
List* CreateList(const char* api, const T* const* members, uint64_t size) {
  return GuardedCreate<List>(api, [&](List* list) -> Status {
    list->members.clear();
    MP_REQUIRE(members != nullptr || size == 0, "value is NULL though size is %llu",
               static_cast<unsigned long long>(size));
    for (uint64_t i = 0; i < size; ++i) {
      MP_REQUIRE(members[i] == nullptr || Alive(members[i]), "value[%llu] is not a live object",
                 static_cast<unsigned long long>(i));
      list->members.push_back(const_cast<T*>(members[i]));
    }
    return Ok();
  });
}

template <class T>
aclnnStatus Destroy(const char* api, const T* object) {
  if (object == nullptr || Arena<T>::Get().Destroy(object)) return 0;
  return Fail(api, kInvalidParameter, "the object is not alive: it was never created or is destroyed already");
}

template <class List, class T>
aclnnStatus DestroyList(const char* api, const List* list, aclnnStatus (*destroy)(const T*)) {
  if (list == nullptr) return 0;
  if (!Alive(list))
    return Fail(api, kInvalidParameter, "the list is not alive: it was never created or is destroyed already");
  aclnnStatus result = 0;
  for (T* member : list->members) {
    if (const aclnnStatus status = destroy(member); status != 0) result = status;
  }
  const aclnnStatus own = Destroy(api, list);
  return result != 0 ? result : own;
}

template <class T>
aclnnStatus TellSize(const char* api, const T* object, size_t (*size_of)(const T&), uint64_t* out_size) {
  if (object == nullptr || out_size == nullptr) return Fail(api, kNullPointer, "an argument is NULL");
  if (!Alive(object)) return Fail(api, kInvalidParameter, "the object is not alive");
  *out_size = size_of(*object);
  return 0;
}

}  // namespace

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  return GuardedCreate<aclScalar>("aclCreateScalar", [&](aclScalar* scalar) -> Status {
    MP_REQUIRE(value != nullptr, "value is NULL");
    return Read(value, static_cast<DType>(dataType), &scalar->value);
  });
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return CreateArray<aclIntArray>("aclCreateIntArray", value, size);
}
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return CreateArray<aclFloatArray>("aclCreateFloatArray", value, size);
}
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return CreateArray<aclBoolArray>("aclCreateBoolArray", value, size);
}
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return CreateList<aclTensorList>("aclCreateTensorList", value, size);
}
aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return CreateList<aclScalarList>("aclCreateScalarList", value, size);
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return Destroy("aclDestroyScalar", scalar); }
aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return Destroy("aclDestroyIntArray", array); }
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) { return Destroy("aclDestroyFloatArray", array); }
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return Destroy("aclDestroyBoolArray", array); }
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  return DestroyList("aclDestroyTensorList", array, &aclDestroyTensor);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  return DestroyList("aclDestroyScalarList", array, &aclDestroyScalar);
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return TellSize<aclIntArray>(
      "aclGetIntArraySize", array, [](const aclIntArray& a) { return a.values.size(); }, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return TellSize<aclFloatArray>(
      "aclGetFloatArraySize", array, [](const aclFloatArray& a) { return a.values.size(); }, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return TellSize<aclBoolArray>(
      "aclGetBoolArraySize", array, [](const aclBoolArray& a) { return a.values.size(); }, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return TellSize<aclTensorList>(
      "aclGetTensorListSize", tensorList, [](const aclTensorList& a) { return a.members.size(); }, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return TellSize<aclScalarList>(
      "aclGetScalarListSize", scalarList, [](const aclScalarList& a) { return a.members.size(); }, size);
}
