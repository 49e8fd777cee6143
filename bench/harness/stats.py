# SPDX-License-Identifier: Apache-2.0
"""Medians with their spread, and figures formatted for people."""

import math
import statistics


class Figure:
    """The median of per-round values, and its confidence interval."""

    def __init__(self, values):
        self.values = [v for v in values if v is not None and math.isfinite(v)]

    def __bool__(self):
        return bool(self.values)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def low(self):
        return min(self.values)

    @property
    def high(self):
        return max(self.values)

    @property
    def interval(self):
        """The 95 % confidence interval of the median, from the order of the values alone: the
        number of values below the true median is binomial (David & Nagaraja, Order Statistics,
        7.1). For fewer than six values, the interval spans all of them.
        """
        values, count = sorted(self.values), len(self.values)
        outside, below = 0, 0.0
        while outside < count // 2:
            below += math.comb(count, outside) / 2**count
            if below > 0.025:
                break
            outside += 1
        outside = max(outside, 1)
        return values[outside - 1], values[count - outside]

    def text(self, show):
        """`show` turns one value into text. A single value is shown without an interval."""
        if not self.values:
            return "n/a"
        if len(self.values) == 1:
            return show(self.values[0])
        low, high = self.interval
        return f"{show(self.median)} ({show(low)} … {show(high)})"


def lower_quartile(values):
    """For times that a disturbance can only lengthen."""
    return sorted(values)[(len(values) - 1) // 4]


def significant(value, digits=3):
    if value == 0:
        return "0"
    value = float(f"{value:.{digits - 1}e}")  # first, so that 0.9999 counts as 1.00
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{max(0, min(decimals, 4))}f}"


def duration(ns):
    """Three significant digits and a unit. Noise can make a small difference negative."""
    for limit, scale, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if abs(ns) < limit:
            return f"{significant(ns / scale)} {unit}"
    return f"{significant(ns / 1e9)} s"


def added(ns):
    return ("+" if ns >= 0 else "−") + duration(abs(ns))


def times(ratio):
    return f"×{significant(ratio)}" if ratio >= 0 else f"×−{significant(-ratio)}"


def percent(share):
    return f"{share * 100:.1f} %"


def points(share):
    return f"{share * 100:.1f} points"


def grouped(count):
    """A count or rate, rounded to three significant digits, with the thousands separated."""
    return f"{float(f'{count:.2e}'):,.0f}".replace(",", " ")


def quotient(above, below):
    """None if noise left nothing to divide by."""
    return above / below if below > 0 else None
