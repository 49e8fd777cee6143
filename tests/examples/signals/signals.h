// SPDX-License-Identifier: GPL-2.0
// In the product, this number is the next one of enum span_kind, in src/bpf/span.h.
#pragma once

#include "bpf/span.h"

enum { SPAN_SIGNAL = SPAN_COUNT };
