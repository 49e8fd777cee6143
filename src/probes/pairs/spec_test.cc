#include "probes/pairs/spec.h"

#include <gtest/gtest.h>
