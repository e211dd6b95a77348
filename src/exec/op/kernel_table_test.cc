// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/kernel_table.h"

#include <gtest/gtest.h>

#include <string>

namespace millpond {
namespace {

// A kernel that no row binds, or one whose parameters are not the table's, fails the load: then none would be found.
TEST(KernelTable, EveryRowHasItsKernel) {
  std::string missing;
  size_t found = 0;
  for (const OpRow& row : OpRows()) {
    const kernels::Kernel* kernel = nullptr;
    const Status status = FindKernel(row, &kernel);
    if (status.ok()) {
      EXPECT_STREQ(kernel->name, OpKernels()[row.kernel.kernel].name);
      ++found;
    } else if (status.message().find("could not be loaded") != std::string::npos) {
      GTEST_SKIP() << "this build has no kernels: " << status.message();
    } else {
      missing += status.message() + "\n";
    }
  }
  EXPECT_GT(found, 0U) << missing;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(MP_STAND_IN_KERNELS)  // there a stand-in has a few of them
  EXPECT_EQ(missing, "");
#endif
}

// The kernel finds in the call what its C++ parameter is made from.
bool Fits(const ArgSpec& argument, const ArgSpec& parameter) {
  const bool tensors = argument.kind == ArgKind::kTensor || argument.kind == ArgKind::kTensorList;
  const bool same = argument.kind == parameter.kind;
  const bool member = argument.kind == ArgKind::kTensor && parameter.kind == ArgKind::kTensorList;
  const bool flag = argument.kind == ArgKind::kBool && parameter.kind == ArgKind::kInt;
  const bool number = parameter.or_scalar && (argument.kind == ArgKind::kScalar || argument.kind == ArgKind::kInt);
  const bool given = parameter.optional || !argument.optional || argument.kind == ArgKind::kString;
  const bool written = !tensors || parameter.flow == ArgFlow::kIn || argument.flow != ArgFlow::kIn;
  const bool read =
      !tensors || parameter.flow != ArgFlow::kIn || (argument.flow != ArgFlow::kOut && !argument.overwritten);
  return (same || member || flag || number) && given && written && read;
}

TEST(KernelTable, EveryParameterIsGivenAnArgumentOrAConstantOfItsType) {
  for (const OpRow& row : OpRows()) {
    const KernelSpec& kernel = OpKernels()[row.kernel.kernel];
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      const ArgSpec& parameter = kernel.parameters[i];
      SCOPED_TRACE(std::string(row.name) + " gives " + kernel.name + " its " + parameter.name);
      const uint8_t place = row.kernel.places[i];
      if (place < KernelBinding::kConstant) {
        ASSERT_LT(place, row.args.size());
        EXPECT_TRUE(Fits(row.args[place], parameter)) << row.args[place].name;
        continue;
      }
      ASSERT_LT(static_cast<size_t>(place - KernelBinding::kConstant), row.kernel.constants.size());
      const KernelConstant& constant = row.kernel.constants[place - KernelBinding::kConstant];
      EXPECT_TRUE(parameter.optional || constant.dtype != DType::kUndefined);
    }
    for (const Refusal& refusal : row.kernel.refusals) EXPECT_LT(refusal.place, row.args.size()) << row.name;
  }
}

TEST(KernelTable, WritersInPlaceSayWhetherTheyReadAndWhetherTheyWriteAll) {
  const auto argument = [](const char* row, size_t place) { return FindOp(row)->args[place]; };
  EXPECT_TRUE(argument("aclnnInplaceZero", 0).overwritten);
  EXPECT_TRUE(argument("aclnnInplaceCopy", 0).overwritten);
  EXPECT_FALSE(argument("aclnnInplaceAdd", 0).overwritten);
  EXPECT_FALSE(argument("aclnnInplaceAdd", 0).partial);
  EXPECT_TRUE(argument("aclnnIndexPutImpl", 0).partial);
  EXPECT_FALSE(argument("aclnnIndexPutImpl", 0).overwritten);
  EXPECT_TRUE(argument("aclnnScatterPaKvCache", 1).partial);
  EXPECT_TRUE(argument("aclnnScatterPaKvCache", 1).overwritten);
}

}  // namespace
}  // namespace millpond
