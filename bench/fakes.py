# SPDX-License-Identifier: Apache-2.0
"""Figures that no tool measured, for tests of the harness."""

import types

from harness import measure


def fake_tool(key, floor=False, peer=False, **more):
    return types.SimpleNamespace(key=key, label=key, floor=floor, peer=peer, slow=False, records=False, spawns=False,
                                 scope_text=lambda scope: "the target", **more)


def fake_samples(rows, tool_list, kind="cost"):
    workload = types.SimpleNamespace(title="loop", unit="call", table=kind, scope="process", remark="")
    samples = measure.Samples(workload, tool_list)
    samples.rows.update(rows)
    return samples


def row(base, value, number=0, **floors):
    pack = lambda ns: {"getppid": ns}  # noqa: E731
    return {"round": number, "base": pack(base), "value": pack(value),
            **{key: pack(ns) for key, ns in floors.items()}}
