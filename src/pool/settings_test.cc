// SPDX-License-Identifier: Apache-2.0
// Issue 4, settings by name: one table, and a bad value is refused with the allowed range.
#include "src/pool/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace millpond::pool {
namespace {

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Sets a variable for the duration of a test and restores it afterwards.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    setenv(name, value, 1);
  }
  ~ScopedVariable() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(PoolSettings, DefaultsOfTheTableAreInTheirOwnRange) {
  const Status status = Settings().Validate();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(PoolSettings, SetTakesTheFieldOrItsVariable) {
  Settings settings;
  EXPECT_TRUE(settings.Set("limit", "8GiB").ok());
  EXPECT_EQ(settings.limit, size_t{8} << 30);
  EXPECT_TRUE(settings.Set("MILLPOND_POOL_LIMIT", "123").ok());
  EXPECT_EQ(settings.limit, 123u);
}

TEST(PoolSettings, UnitsFractionsAndUnlimitedAreRead) {
  Settings settings;
  EXPECT_TRUE(settings.Set("keep", "1.5G").ok());
  EXPECT_EQ(settings.keep, size_t{3} << 29);
  EXPECT_TRUE(settings.Set("keep", "unlimited").ok());
  EXPECT_EQ(settings.keep, SIZE_MAX);
  EXPECT_TRUE(settings.Set("keep", "18446744073709551614").ok());
  EXPECT_EQ(settings.keep, SIZE_MAX - 1) << "a whole number must not be rounded";
  EXPECT_TRUE(settings.Set("small", " 128 KiB ").ok());
  EXPECT_EQ(settings.small, size_t{128} << 10);
}

TEST(PoolSettings, ValueOutsideTheRangeIsRefusedWithRangeAndMeaning) {
  Settings settings;
  const size_t before = settings.small;
  const Status status = settings.Set("small", "2GiB");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (const char* part :
       {"MILLPOND_POOL_SMALL", "small", "'2GiB'", "512", "1048576 (1.0 MiB)", "Requests below this"}) {
    EXPECT_TRUE(Contains(status.message(), part)) << part << " is not in: " << status.message();
  }
  EXPECT_EQ(settings.small, before) << "a refused value must change nothing";
}

TEST(PoolSettings, ValuesThatAreNotNumbersAreRefused) {
  Settings settings;
  for (const char* text :
       {"", "yes", "-1", "1.5", "0.5B", "12 apples", "1e3", "nan", "inf", "99999999999999999999", "0x10", "1GiBs"}) {
    const Status status = settings.Set("vmm", text);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << "'" << text << "' was taken as " << settings.vmm;
    EXPECT_TRUE(Contains(status.message(), "'" + std::string(text) + "'")) << status.message();
    EXPECT_TRUE(Contains(status.message(), "0 to 1")) << status.message();
  }
  EXPECT_EQ(settings.vmm, 1u);
}

TEST(PoolSettings, UnlimitedIsRefusedWhereThereIsALimit) {
  Settings settings;
  EXPECT_EQ(settings.Set("cache", "unlimited").code(), Code::kInvalidArgument);
}

TEST(PoolSettings, UnknownNameListsTheKnownOnes) {
  Settings settings;
  const Status status = settings.Set("limits", "1");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
#define MP_POOL_SETTING(field, variable, standard, smallest, largest, sentence) \
  EXPECT_TRUE(Contains(status.message(), #field)) << status.message();
#include "src/pool/settings.def"
#undef MP_POOL_SETTING
  EXPECT_TRUE(Contains(status.message(), "'limits'")) << status.message();
}

TEST(PoolSettings, EnvironmentIsReadAndABadValueNamesItsVariable) {
  Settings settings;
  {
    ScopedVariable segment("MILLPOND_POOL_SEGMENT", "32MiB");
    ScopedVariable empty("MILLPOND_POOL_KEEP", "");
    const Status status = Settings::FromEnvironment(&settings);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(settings.segment, size_t{32} << 20);
    EXPECT_EQ(settings.keep, SIZE_MAX) << "an empty variable is not set";
  }
  ScopedVariable poison("MILLPOND_POOL_POISON", "2");
  settings.segment = 7;
  const Status status = Settings::FromEnvironment(&settings);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(Contains(status.message(), "MILLPOND_POOL_POISON")) << status.message();
  EXPECT_EQ(settings.segment, 7u) << "the result is untouched when the environment is refused";
}

TEST(PoolSettings, ValidateNamesAFieldThatWasSetByHand) {
  Settings settings;
  settings.history = SIZE_MAX;
  const Status status = settings.Validate();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(Contains(status.message(), "MILLPOND_POOL_HISTORY")) << status.message();
}

}  // namespace
}  // namespace millpond::pool
