// SPDX-License-Identifier: Apache-2.0
// Scalars, arrays and lists of aclnn: the values are copied, the members of lists belong to the list.
#include <cstring>
#include <utility>

#include "include/aclnn/acl_meta.h"
#include "src/api/aclnn/aclnn_guard.h"
#include "src/api/aclnn/objects.h"
#include "src/base/format.h"
#include "src/base/half.h"
#include "src/device/memory/memory.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

namespace {

template <class T>
T Load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
int64_t LoadInteger(const void* from) {
  return static_cast<int64_t>(Load<T>(from));
}

Status ReadReal(double value, ScalarValue* out) {
  out->real = value;
  return Ok();
}

template <class T>
Status ReadComplex(const void* from, ScalarValue* out) {
  out->imaginary = Load<T>(static_cast<const std::byte*>(from) + sizeof(T));
  return ReadReal(Load<T>(from), out);
}

Status Read(const void* from, DType type, ScalarValue* out) {
  *out = ScalarValue();
  out->dtype = type;
  if (VisitInteger(type, [&](auto zero) { out->integer = LoadInteger<decltype(zero)>(from); })) return Ok();
  switch (type) {
    case DType::kBool:
      out->integer = Load<uint8_t>(from) != 0;
      return Ok();
    case DType::kFloat:
      return ReadReal(Load<float>(from), out);
    case DType::kHalf:
      return ReadReal(FloatFromHalf(Load<uint16_t>(from)), out);
    case DType::kBfloat16:
      return ReadReal(FloatFromBfloat16(Load<uint16_t>(from)), out);
    case DType::kDouble:
      return ReadReal(Load<double>(from), out);
    case DType::kComplex64:
      return ReadComplex<float>(from, out);
    case DType::kComplex128:
      return ReadComplex<double>(from, out);
    default:
      return InvalidArgument(Format("dataType %d (%s) cannot be a scalar", static_cast<int>(type), DTypeName(type)));
  }
}

Status CheckValue(const void* value) {
  MP_REQUIRE(HostCanRead({value}), "nothing can be read at value (%p); pass an address of host memory", value);
  return Ok();
}

template <class Array, class T>
Array* CreateArray(const char* api, const T* values, uint64_t size) {
  return GuardedCreate<Array>(api, [&](Array* array) -> Status {
    MP_REQUIRE(values != nullptr || size == 0, "value is NULL though size is %llu",
               static_cast<unsigned long long>(size));
    MP_RETURN_IF_ERROR(CheckValue(size != 0 ? values : nullptr));
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
    MP_RETURN_IF_ERROR(CheckValue(size != 0 ? members : nullptr));
    for (uint64_t i = 0; i < size; ++i) {
      MP_REQUIRE(members[i] == nullptr || Alive(members[i]), "value[%llu] is not a live object",
                 static_cast<unsigned long long>(i));
      list->members.push_back(const_cast<T*>(members[i]));
    }
    return Ok();
  });
}

template <class T>
Status DestroyObject(const T* object) {
  MP_REQUIRE(object == nullptr || ObjectArena<T>::Get().Destroy(object),
             "the object is not alive: it was never created or is destroyed already");
  return Ok();
}

template <class T>
aclnnStatus Destroy(const char* api, const T* object) {
  return Guard(api, [&] { return DestroyObject(object); });
}

// The list goes even where a member was destroyed before it, which is a mistake all the same.
template <class List>
aclnnStatus DestroyList(const char* api, const List* list) {
  return Guard(api, [&]() -> Status {
    if (list == nullptr) return Ok();
    MP_REQUIRE(Alive(list), "the list is not alive: it was never created or is destroyed already");
    Status members = Ok();
    for (const auto* member : list->members) {
      if (Status status = DestroyObject(member); !status.ok()) members = std::move(status).Prefixed("a member");
    }
    MP_RETURN_IF_ERROR(DestroyObject(list));
    return members;
  });
}

template <class T>
size_t SizeOf(const T& list) {
  if constexpr (requires { list.values; }) {
    return list.values.size();
  } else {
    return list.members.size();
  }
}

template <class T>
aclnnStatus TellSize(const char* api, const T* object, uint64_t* out_size) {
  return Guard(api, [&]() -> Outcome {
    if (object == nullptr || out_size == nullptr) return IsNull("an argument is NULL");
    MP_REQUIRE(Alive(object), "the object is not alive");
    *out_size = SizeOf(*object);
    return Ok();
  });
}

}  // namespace

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  return GuardedCreate<aclScalar>("aclCreateScalar", [&](aclScalar* scalar) -> Status {
    MP_REQUIRE(value != nullptr, "value is NULL");
    MP_RETURN_IF_ERROR(CheckValue(value));
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
aclnnStatus aclDestroyTensorList(const aclTensorList* array) { return DestroyList("aclDestroyTensorList", array); }
aclnnStatus aclDestroyScalarList(const aclScalarList* array) { return DestroyList("aclDestroyScalarList", array); }

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return TellSize("aclGetIntArraySize", array, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return TellSize("aclGetFloatArraySize", array, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return TellSize("aclGetBoolArraySize", array, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return TellSize("aclGetTensorListSize", tensorList, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return TellSize("aclGetScalarListSize", scalarList, size);
}
