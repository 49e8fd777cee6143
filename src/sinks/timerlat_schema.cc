#include "sinks/timerlat_schema.h"

namespace overdue {

const char* const timerlat_definitions = R"json({
  "timer_figures": {
    "type": "object",
    "description": "Latencies from the moment the timer was set for; percentiles within 6.25 %, the rest exact",
    "required": ["count", "min_ns", "avg_ns", "p50_ns", "p99_ns", "max_ns"],
    "properties": {
      "count": {"$ref": "#/$defs/count"},
      "min_ns": {"$ref": "#/$defs/ns"}, "avg_ns": {"$ref": "#/$defs/ns"}, "p50_ns": {"$ref": "#/$defs/ns"},
      "p99_ns": {"$ref": "#/$defs/ns"}, "max_ns": {"$ref": "#/$defs/ns"},
      "histogram": {
        "type": "array",
        "description": "with --hist: [low_ns, high_ns, count]; high_ns is null where there is none",
        "items": {"type": "array", "prefixItems": [{"$ref": "#/$defs/ns"}, {"anyOf": [{"$ref": "#/$defs/ns"}, {"type": "null"}]}, {"$ref": "#/$defs/count"}], "minItems": 3, "maxItems": 3}
      }
    },
    "additionalProperties": false
  },
  "timer_cpus": {
    "type": "array",
    "items": {
      "type": "object",
      "required": ["cpu", "count", "missed", "irq", "thread", "user"],
      "properties": {
        "cpu": {"$ref": "#/$defs/id"},
        "count": {"$ref": "#/$defs/count", "description": "activations"},
        "missed": {"$ref": "#/$defs/count", "description": "periods that passed while the thread was still late from one before; at the end"},
        "irq": {"$ref": "#/$defs/timer_figures"}, "thread": {"$ref": "#/$defs/timer_figures"}, "user": {"$ref": "#/$defs/timer_figures"}
      },
      "additionalProperties": false
    }
  },
  "timer_cause": {
    "type": "object",
    "description": "What stopped the run: the ns of the parts and residual_ns add up to latency_ns",
    "required": ["cpu", "id", "time_ns", "context", "limit_ns", "latency_ns", "irq_delay_ns", "parts", "residual_ns", "steal_ns", "complete", "interrupted", "verdict", "verdict_ns", "who", "explanation", "stack"],
    "properties": {
      "cpu": {"$ref": "#/$defs/id"},
      "id": {"$ref": "#/$defs/count", "description": "of the activation"},
      "time_ns": {"$ref": "#/$defs/ns", "description": "when the latency ended"},
      "context": {"enum": ["irq", "thread", "user"], "description": "whose latency was over the limit"},
      "limit_ns": {"$ref": "#/$defs/ns"},
      "latency_ns": {"$ref": "#/$defs/ns", "description": "of the thread; of context user, until it was back in its program"},
      "irq_delay_ns": {"$ref": "#/$defs/ns", "description": "of it, until the interrupt"},
      "parts": {
        "type": "array",
        "description": "the longest first; net of what interrupted them",
        "items": {
          "type": "object",
          "required": ["kind", "name", "ns", "before_irq_ns"],
          "properties": {
            "kind": {"enum": ["irq", "softirq", "nmi", "thread", "unknown"]},
            "name": {"type": "string"},
            "number": {"$ref": "#/$defs/id", "description": "of the interrupt"}, "tid": {"$ref": "#/$defs/id"},
            "ns": {"$ref": "#/$defs/ns"},
            "before_irq_ns": {"$ref": "#/$defs/ns", "description": "of it, before the timer's interrupt"}
          },
          "additionalProperties": false
        }
      },
      "residual_ns": {"$ref": "#/$defs/ns", "description": "the time that nothing the kernel reports explains"},
      "steal_ns": {"$ref": "#/$defs/ns", "description": "what a hypervisor says it took of the CPU since the activation before"},
      "complete": {"type": "boolean", "description": "false: there was more noise than was kept; the oldest is in the residual"},
      "interrupted": {
        "type": "object",
        "description": "the thread that ran when the interrupt came; tid 0: the CPU was idle",
        "required": ["tid", "comm", "user_mode"],
        "properties": {"tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}, "user_mode": {"type": "boolean"}},
        "additionalProperties": false
      },
      "verdict": {"enum": ["irqs_off", "preemption_off", "interference", "idle_exit", "hardware", "wakeup", "own_work"], "description": "what the largest share was"},
      "verdict_ns": {"$ref": "#/$defs/ns", "description": "that share"},
      "who": {"type": "string", "description": "the thread or interrupt to blame; empty: none"},
      "explanation": {"type": "string"},
      "stack": {"$ref": "#/$defs/stack", "description": "where the CPU was when the interrupt came"}
    },
    "additionalProperties": false
  },
  "timerlat": {
    "description": "The report of overdue timerlat",
    "required": ["period_ns", "priority", "cpus", "cause"],
    "properties": {
      "period_ns": {"$ref": "#/$defs/ns"},
      "priority": {"anyOf": [{"$ref": "#/$defs/count"}, {"type": "null"}], "description": "of SCHED_FIFO; null: the threads are a program's own"},
      "cpus": {"$ref": "#/$defs/timer_cpus"},
      "cause": {"anyOf": [{"$ref": "#/$defs/timer_cause"}, {"type": "null"}]}
    }
  },
  "noise_parts": {
    "type": "array",
    "description": "where the noise came from, the longest first; net of what interrupted it",
    "items": {
      "type": "object",
      "required": ["kind", "name", "count", "ns", "max_ns"],
      "properties": {
        "kind": {"enum": ["irq", "softirq", "nmi", "thread", "hardware", "unknown"], "description": "hardware: or a hypervisor; nothing that the kernel reports"},
        "name": {"type": "string"},
        "number": {"$ref": "#/$defs/id", "description": "of the interrupt"}, "tid": {"$ref": "#/$defs/id", "description": "0: no switch to the thread was reported"},
        "count": {"$ref": "#/$defs/count"}, "ns": {"$ref": "#/$defs/ns"}, "max_ns": {"$ref": "#/$defs/ns"}
      },
      "additionalProperties": false
    }
  },
  "noise_cpus": {
    "type": "array",
    "items": {
      "type": "object",
      "description": "All periods that have ended: the ns of the parts and residual_ns add up to noise_ns",
      "required": ["cpu", "samples", "runtime_ns", "noise_ns", "percent_available", "max_noise_ns", "max_single_ns", "hw", "nmi", "irq", "softirq", "thread", "parts", "residual_ns"],
      "properties": {
        "cpu": {"$ref": "#/$defs/id"},
        "samples": {"$ref": "#/$defs/count", "description": "periods"},
        "runtime_ns": {"$ref": "#/$defs/ns"},
        "noise_ns": {"$ref": "#/$defs/ns", "description": "of runtime_ns, all noise of at least the threshold"},
        "percent_available": {"type": "number", "minimum": 0, "maximum": 100},
        "max_noise_ns": {"$ref": "#/$defs/ns", "description": "the most noise of one period"},
        "max_single_ns": {"$ref": "#/$defs/ns", "description": "the longest single noise"},
        "hw": {"$ref": "#/$defs/count", "description": "noise without any interference"},
        "nmi": {"$ref": "#/$defs/count", "description": "interferences in noise of any length, as the next three"},
        "irq": {"$ref": "#/$defs/count"}, "softirq": {"$ref": "#/$defs/count"}, "thread": {"$ref": "#/$defs/count"},
        "parts": {"$ref": "#/$defs/noise_parts"},
        "residual_ns": {"$ref": "#/$defs/ns", "description": "in no part: ways into the kernel and back, switches, what was lost"},
        "histogram": {
          "type": "array",
          "description": "with --hist: [low_ns, high_ns, count]; high_ns is null where there is none",
          "items": {"type": "array", "prefixItems": [{"$ref": "#/$defs/ns"}, {"anyOf": [{"$ref": "#/$defs/ns"}, {"type": "null"}]}, {"$ref": "#/$defs/count"}], "minItems": 3, "maxItems": 3}
        }
      },
      "additionalProperties": false
    }
  },
  "noise_cause": {
    "type": "object",
    "description": "What stopped the run: the ns of the parts and residual_ns add up to noise_ns",
    "required": ["cpu", "time_ns", "of", "limit_ns", "noise_ns", "parts", "residual_ns", "complete"],
    "properties": {
      "cpu": {"$ref": "#/$defs/id"}, "time_ns": {"$ref": "#/$defs/ns"},
      "of": {"enum": ["single", "total"], "description": "a single noise, or the noise of a period"},
      "limit_ns": {"$ref": "#/$defs/ns"}, "noise_ns": {"$ref": "#/$defs/ns"},
      "parts": {"$ref": "#/$defs/noise_parts"}, "residual_ns": {"$ref": "#/$defs/ns"},
      "complete": {"type": "boolean", "description": "false: there was more noise than was kept; the oldest is in the residual"}
    },
    "additionalProperties": false
  },
  "osnoise": {
    "description": "The report of overdue osnoise",
    "required": ["osnoise", "cpus", "cause"],
    "properties": {
      "osnoise": {
        "type": "object",
        "required": ["period_ns", "runtime_ns", "threshold_ns", "priority"],
        "properties": {
          "period_ns": {"$ref": "#/$defs/ns"},
          "runtime_ns": {"$ref": "#/$defs/ns", "description": "of each period"},
          "threshold_ns": {"$ref": "#/$defs/ns"},
          "priority": {"$ref": "#/$defs/count", "description": "of SCHED_FIFO; 0: ordinary threads"}
        },
        "additionalProperties": false
      },
      "cpus": {"$ref": "#/$defs/noise_cpus"},
      "cause": {"anyOf": [{"$ref": "#/$defs/noise_cause"}, {"type": "null"}]}
    }
  },
  "hwlat_window": {
    "type": "object",
    "description": "A window in which a latency came from no software; first is when the first of them began",
    "required": ["number", "cpu", "time_ns", "inner_ns", "outer_ns", "first", "count", "nmi_total_ns", "nmi_count"],
    "properties": {
      "number": {"$ref": "#/$defs/count"}, "cpu": {"$ref": "#/$defs/id"},
      "time_ns": {"$ref": "#/$defs/ns", "description": "when the window ended"},
      "inner_ns": {"$ref": "#/$defs/ns", "description": "the longest between the two looks of a pair"},
      "outer_ns": {"$ref": "#/$defs/ns", "description": "the longest from one pair to the next"},
      "first": {"$ref": "#/$defs/instant"},
      "count": {"$ref": "#/$defs/count", "description": "latencies at least as long as the threshold"},
      "nmi_total_ns": {"$ref": "#/$defs/ns"}, "nmi_count": {"$ref": "#/$defs/count"}
    }
  },
  "hwlat": {
    "description": "The report of overdue worst hwlat",
    "required": ["hwlat"],
    "properties": {
      "hwlat": {
        "type": "object",
        "required": ["interrupts_off"],
        "properties": {
          "interrupts_off": {"type": "boolean", "description": "interrupts were off while the thread looked: with the kernel's own tracer"},
          "threshold_ns": {"$ref": "#/$defs/ns"}, "width_ns": {"$ref": "#/$defs/ns"}, "window_ns": {"$ref": "#/$defs/ns"},
          "windows": {"type": "array", "items": {"$ref": "#/$defs/hwlat_window", "unevaluatedProperties": false}}
        },
        "additionalProperties": false
      }
    }
  },
  "late_timer": {
    "type": "object",
    "description": "One wake-up by a timer: the ns of the parts add up to latency_ns",
    "required": ["timer", "time_ns", "tid", "cpu", "expires_ns", "latency_ns", "irq_delay_ns", "parts", "interrupted", "stack"],
    "properties": {
      "timer": {"type": "string", "description": "the system call that waited, and the kind of timer where it is not that call's own"},
      "time_ns": {"$ref": "#/$defs/ns", "description": "when the call had ended"},
      "tid": {"$ref": "#/$defs/id"},
      "cpu": {"$ref": "#/$defs/id", "description": "where the thread ran then"},
      "expires_ns": {"$ref": "#/$defs/ns", "description": "what the program asked for, as time_ns counts"},
      "latency_ns": {"$ref": "#/$defs/ns", "description": "from expires_ns to time_ns"},
      "irq_delay_ns": {"$ref": "#/$defs/ns", "description": "of it, until the timer's interrupt"},
      "parts": {
        "type": "array",
        "description": "in the order of time; name and tid are of who had the CPU",
        "items": {
          "type": "object",
          "required": ["kind", "ns"],
          "properties": {
            "kind": {"enum": ["slack", "irq", "handler", "run queue", "throttled", "return"]},
            "ns": {"$ref": "#/$defs/ns"}, "name": {"type": "string"}, "tid": {"$ref": "#/$defs/id"},
            "ran_ns": {"$ref": "#/$defs/ns", "description": "of ns, for how long that thread had it"}
          },
          "additionalProperties": false
        }
      },
      "throttled_by": {"$ref": "#/$defs/throttle", "description": "whose limit kept the thread"},
      "interrupted": {
        "type": "object",
        "description": "the thread that ran on the CPU of the interrupt; tid 0: the CPU was idle",
        "required": ["cpu", "tid", "comm"],
        "properties": {"cpu": {"$ref": "#/$defs/id"}, "tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}},
        "additionalProperties": false
      },
      "stack": {"$ref": "#/$defs/stack", "description": "with --stack: where that CPU was then"}
    },
    "additionalProperties": false
  },
  "own_timers": {
    "type": "array",
    "description": "By thread and kind of timer, the latest first",
    "items": {
      "type": "object",
      "required": ["pid", "tid", "comm", "timer", "irq", "thread", "user", "latest"],
      "properties": {
        "pid": {"$ref": "#/$defs/id"}, "tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"},
        "timer": {"type": "string"},
        "irq": {"$ref": "#/$defs/timer_figures"}, "thread": {"$ref": "#/$defs/timer_figures"}, "user": {"$ref": "#/$defs/timer_figures"},
        "latest": {"$ref": "#/$defs/late_timer"}
      },
      "additionalProperties": false
    }
  },
  "own_timers_report": {
    "description": "The report of overdue timerlat with a target",
    "required": ["timers", "cause"],
    "properties": {
      "timers": {"$ref": "#/$defs/own_timers"},
      "cause": {"anyOf": [{"$ref": "#/$defs/late_timer"}, {"type": "null"}], "description": "what ended the run"}
    }
  }
})json";

const char* const timerlat_lines = R"json([
  {
    "description": "A line of overdue worst hwlat",
    "properties": {"type": {"const": "hwlat"}},
    "allOf": [{"$ref": "#/$defs/hwlat_window"}],
    "unevaluatedProperties": false
  },
  {
    "description": "overdue timerlat with --interval: figures since the start",
    "required": ["start", "end", "cpus"],
    "properties": {
      "type": {"const": "interval"},
      "start": {"$ref": "#/$defs/instant"}, "end": {"$ref": "#/$defs/instant"},
      "cpus": {"$ref": "#/$defs/timer_cpus"}
    },
    "unevaluatedProperties": false
  },
  {
    "description": "overdue osnoise with --interval: figures since the start",
    "required": ["start", "end", "cpus"],
    "properties": {
      "type": {"const": "interval"},
      "start": {"$ref": "#/$defs/instant"}, "end": {"$ref": "#/$defs/instant"},
      "cpus": {"$ref": "#/$defs/noise_cpus"}
    },
    "unevaluatedProperties": false
  },
  {
    "description": "overdue timerlat with a target and --interval: figures since the start",
    "required": ["end", "timers"],
    "properties": {
      "type": {"const": "interval"},
      "end": {"$ref": "#/$defs/instant"},
      "timers": {"$ref": "#/$defs/own_timers"}
    },
    "unevaluatedProperties": false
  }
])json";

}  // namespace overdue
