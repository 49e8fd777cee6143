#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernel/features.h"
#include "kernel/session.h"
#include "sinks/output.h"

namespace overdue {

struct DoctorOptions {
  std::string format = "text";  ///< or "json"
  bool calibrate = true;
  bool verbose = false;  ///< true: the text lists all that works, too
};

/// Measures the cost of measuring on this machine. May throw Error: the report then says why there
/// is no figure.
using Calibrate = std::function<std::optional<Calibration>()>;

/// Writes the report about this machine to `output`. `planned` are the commands of the contract
/// that this version does not have. Returns the exit status: 0 if `overdue syscalls` works
/// natively, else 1.
int run_doctor(const DoctorOptions& options, const Kernel& kernel,
               std::span<const std::string_view> planned, const Calibrate& calibrate,
               Output& output);

}  // namespace overdue
