// SPDX-License-Identifier: Apache-2.0
// A client whose std::string is the old one, as the vendor's libraries and torch's older wheels are built. No gtest:
// that has the new one. Prints what failed.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define NO_METADEF_ABI_COMPATIABLE  // the functions under test are the deprecated ones
#include "exe_graph/runtime/runtime_tensor.h"
#include "graph/attr_value.h"
#include "graph/tensor.h"

static_assert(_GLIBCXX_USE_CXX11_ABI == 0, "built with -D_GLIBCXX_USE_CXX11_ABI=0");

namespace {

int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

void NamesPass() {
  ge::TensorDesc desc;
  const std::string name = "a name that is longer than any small-string buffer";
  desc.SetName(name);
  Expect(desc.GetName() == name, "TensorDesc::GetName gives what SetName took");
}

void StringTensorsPass() {
  ge::Tensor tensor;
  Expect(tensor.SetData(std::string("text")) == ge::GRAPH_SUCCESS, "Tensor::SetData takes a string");
  Expect(tensor.GetSize() == sizeof(ge::StringHead) + 5, "a head, the bytes and a zero");
  Expect(std::strcmp(reinterpret_cast<const char*>(tensor.GetData()) + 16, "text") == 0, "the bytes follow the head");
  Expect(tensor.SetData(std::vector<std::string>{"x", "yz"}) == ge::GRAPH_SUCCESS, "Tensor::SetData takes strings");
  Expect(tensor.SetData(std::vector<std::string>()) == ge::GRAPH_FAILED, "but not none");
}

void AttributesPass() {
  ge::AttrValue value;
  Expect(value.SetAttrValue(ge::AscendString("text")) == ge::GRAPH_SUCCESS, "AttrValue takes text");
  std::string text;
  Expect(value.GetValue<ge::AttrValue::STR, std::string>(text) == ge::GRAPH_SUCCESS && text == "text",
         "AttrValue::GetValue gives a string");
}

// Copies and destructors of AscendString are the client's code, its text is the library's.
void AscendStringsPass() {
  std::map<ge::AscendString, ge::AscendString> options;
  options["a"] = "1";
  options["b"] = options["a"];
  std::map<ge::AscendString, ge::AscendString> copy = options;
  options.clear();
  Expect(copy.size() == 2 && copy["b"] == "1", "AscendStrings are shared across the border");
}

}  // namespace

int main() {
  NamesPass();
  StringTensorsPass();
  AttributesPass();
  AscendStringsPass();
  return failures == 0 ? 0 : 1;
}
