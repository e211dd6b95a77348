// SPDX-License-Identifier: Apache-2.0
// The package's own functions whose answers are lists, dicts or texts.
#include "include/acl/acl.h"
#include "include/acl/acl_op_compiler.h"
#include "python/acl/call.h"

namespace millpond::python {

PyObject* acl_get_tensor_desc_dim_range(Args& args) {
  const uint64_t desc = args.Word(0);
  const uint64_t index = args.Word(1);
  const uint64_t count = args.Word(2);
  if (!args.ok()) return nullptr;
  constexpr uint64_t kMax = 4096;  // the vendor's bound
  if (count > kMax) return Make(None{}, Invalid(args, "dim_range_num is more than " + std::to_string(kMax)));
  // The C function writes two numbers whatever it is told; fewer would be its overflow.
  std::vector<int64_t> range(count + ACL_TENSOR_SHAPE_RANGE_NUM);
  const aclError ret =
      aclGetTensorDescDimRange(reinterpret_cast<const aclTensorDesc*>(desc), index, count, range.data());
  if (ret != ACL_SUCCESS) return Make(None{}, ret);
  return Make(MakeList(range.data(), count), ret);
}

PyObject* acl_get_cann_attribute_list(Args&) {
  const aclCannAttr* attributes = nullptr;
  size_t count = 0;
  const aclError ret = Released([&] { return aclGetCannAttributeList(&attributes, &count); });
  if (ret != ACL_SUCCESS) count = 0;
  return Make(MakeList(attributes, count), count, ret);
}

PyObject* acl_get_cann_version(Args& args) {
  const auto name = static_cast<aclCANNPackageName>(args.Masked<uint32_t>(0));
  if (!args.ok()) return nullptr;
  aclCANNPackageVersion version{};
  const aclError ret = Released([&] { return aclsysGetCANNVersion(name, &version); });
  PyObject* dict = MakeDict({{"version", FixedText(version.version, sizeof(version.version))},
                             {"major_version", FixedText(version.majorVersion, sizeof(version.majorVersion))},
                             {"minor_version", FixedText(version.minorVersion, sizeof(version.minorVersion))},
                             {"release_version", FixedText(version.releaseVersion, sizeof(version.releaseVersion))},
                             {"patch_version", FixedText(version.patchVersion, sizeof(version.patchVersion))},
                             {"reserved", FixedText(version.reserved, sizeof(version.reserved))}});
  return Make(dict, ret);
}

PyObject* acl_get_version_str(Args& args) {
  const char* package = args.String(0);
  if (!args.ok()) return nullptr;
  std::string name = package;
  std::array<char, ACL_PKG_VERSION_MAX_SIZE> version{};
  const aclError ret = Released([&] { return aclsysGetVersionStr(name.data(), version.data()); });
  return Make(FixedText(version.data(), version.size()), ret);
}

PyObject* acl_get_compileopt(Args& args) {
  const auto option = static_cast<aclCompileOpt>(args.Checked<int32_t>(0));
  if (!args.ok()) return nullptr;
  std::vector<char> value(aclGetCompileoptSize(option) + 1);
  const aclError ret = aclGetCompileopt(option, value.data(), value.size());
  return Make(FixedText(value.data(), value.size()), ret);
}

}  // namespace millpond::python
