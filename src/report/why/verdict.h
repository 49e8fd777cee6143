#pragma once

#include <string>

#include "report/why/figures.h"

namespace overdue {

/// The first line of the report: the largest cause; or that nothing was late, with the figures.
/// Then the sleeps that a spawned program asked for, if they took longer than all that was late.
std::string verdict_of(const WhyFigures& figures, const WhyFindings& found);

}  // namespace overdue
