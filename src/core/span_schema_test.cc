#include "core/span_schema.h"
