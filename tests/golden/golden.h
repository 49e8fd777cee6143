#pragma once

#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace overdue {

/// Compares `actual` with the file `name` in tests/golden, byte for byte. With
/// OVERDUE_UPDATE_GOLDEN=1, writes the file instead.
inline void expect_golden(const std::string& name, const std::string& actual) {
  const char* source = ::getenv("OVERDUE_SOURCE");
  const std::string path = std::string(source != nullptr ? source : ".") + "/tests/golden/" + name;
  if (::getenv("OVERDUE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream expected;
  expected << file.rdbuf();
  ASSERT_TRUE(file.is_open()) << "no " << path << "; run with OVERDUE_UPDATE_GOLDEN=1 to make it";
  EXPECT_EQ(actual, expected.str()) << "differs from " << path;
}

}  // namespace overdue
