#include "sinks/finding_schema.h"

namespace overdue {

const char* const finding_definitions = R"json({
  "frame": {
    "type": "object",
    "description": "One frame of a stack, innermost first",
    "required": ["name", "module", "offset"],
    "properties": {
      "name": {"type": "string", "description": "function; empty: unknown"},
      "module": {"type": "string", "description": "file; [kernel] or a module of it, [vdso], [jit], [anon]"},
      "offset": {"$ref": "#/$defs/count", "description": "into the function; without a name into the module"},
      "build_id": {"type": "string"},
      "file": {"type": "string", "description": "of the source; with --lines"}, "line": {"$ref": "#/$defs/count"},
      "inlined": {"const": true, "description": "into the next frame"},
      "gap": {"const": true, "description": "frames may be missing between the one before and it"}
    },
    "additionalProperties": false
  },
  "stack": {"type": "array", "items": {"$ref": "#/$defs/frame"}},
  "who": {
    "type": "object",
    "description": "A thread; pid where it is known",
    "required": ["tid", "comm"],
    "properties": {"pid": {"$ref": "#/$defs/id"}, "tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}}
  },
  "means": {"enum": ["timeout", "disk completion"], "description": "what an interrupt stands for, by its functions; timeout: the sleeper's own"},
  "waker": {
    "type": "object",
    "description": "Who ended a wait: a thread, also where an interrupt ran in its own call; or an interrupt, without pid, tid and comm",
    "required": ["context", "stack"],
    "properties": {
      "pid": {"$ref": "#/$defs/id"}, "tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"},
      "means": {"$ref": "#/$defs/means"},
      "disk": {"type": "string", "description": "of a disk completion"},
      "interrupted": {"$ref": "#/$defs/who", "description": "the thread that the interrupt interrupted, by chance"},
      "context": {"type": "string", "description": "thread, softirq NET_RX, irq 24 virtio1-req.0, vector local_timer, unknown"},
      "stack": {"$ref": "#/$defs/stack"}
    },
    "additionalProperties": false
  },
  "throttle": {
    "type": "object",
    "description": "A cgroup whose CPU time was used up",
    "required": ["limit", "cgroup", "cgroup_id", "quota_ns", "period_ns"],
    "properties": {
      "limit": {"enum": ["quota", "real_time"], "description": "real_time: what real-time threads have; of cgroup / that of all of them"},
      "cgroup": {"type": "string", "description": "path in the hierarchy of the controller cpu"},
      "cgroup_id": {"$ref": "#/$defs/count", "description": "there"},
      "quota_ns": {"$ref": "#/$defs/ns", "description": "CPU time that it has in each period"},
      "period_ns": {"$ref": "#/$defs/ns"}
    },
    "additionalProperties": false
  },
  "breakdown": {
    "type": "object",
    "required": ["oncpu_ns", "runqueue_ns", "preempted_ns", "throttled_ns", "blocked_ns", "irq_ns", "softirq_ns", "unknown_ns"],
    "additionalProperties": {"$ref": "#/$defs/ns"}
  },
  "blocked": {
    "type": "object",
    "description": "what breakdown.blocked_ns is made of",
    "required": ["sleeping_ns", "uninterruptible_ns"],
    "additionalProperties": {"$ref": "#/$defs/ns"}
  },
  "shares": {
    "type": "array",
    "description": "Threads that had the CPU while this one could run, longest first; tid 0: the CPU idled. An interrupt counts with the thread that it interrupted; what is not known is missing",
    "items": {
      "type": "object",
      "required": ["tid", "comm", "ns"],
      "properties": {"tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}, "ns": {"$ref": "#/$defs/ns"}, "on_cpu": {"$ref": "#/$defs/on_cpu"}},
      "additionalProperties": false
    }
  },
  "on_cpu": {
    "type": "object",
    "description": "Where a thread was while it ran: samples that its CPU's tick took",
    "required": ["samples", "places"],
    "properties": {
      "samples": {"$ref": "#/$defs/count", "description": "in all; of many, those that were looked at"},
      "places": {
        "type": "array",
        "description": "by function and caller, those with most samples first",
        "items": {
          "type": "object",
          "required": ["samples", "stack"],
          "properties": {
            "samples": {"$ref": "#/$defs/count"},
            "stack": {"$ref": "#/$defs/stack", "description": "of one of them: the kernel's functions, where it was in there, then the program's"}
          },
          "additionalProperties": false
        }
      }
    },
    "additionalProperties": false
  },
  "place": {
    "type": "object",
    "description": "Waits of one state and kernel stack",
    "required": ["state", "ns", "blocked_ns", "longest_ns", "count", "kernel_stack"],
    "properties": {
      "state": {"$ref": "#/$defs/wait/properties/state"},
      "ns": {"$ref": "#/$defs/ns", "description": "from switched out to switched in, of them all"},
      "blocked_ns": {"$ref": "#/$defs/ns", "description": "of it: the thread could not run"},
      "longest_ns": {"$ref": "#/$defs/ns"}, "count": {"$ref": "#/$defs/count"},
      "kernel_stack": {"$ref": "#/$defs/stack"}
    },
    "additionalProperties": false
  },
  "wait": {
    "type": "object",
    "description": "A stretch off the CPU",
    "required": ["ns", "runqueue_ns", "throttled_ns", "state", "kernel_stack"],
    "properties": {
      "ns": {"$ref": "#/$defs/ns"},
      "runqueue_ns": {"$ref": "#/$defs/ns", "description": "of it: woken, waiting for a CPU"},
      "throttled_ns": {"$ref": "#/$defs/ns", "description": "of it: kept from running by the CPU quota of a cgroup"},
      "state": {"enum": ["sleeping", "uninterruptible", "preempted", "throttled", "unknown", "other"], "description": "unknown: it could run, yet its CPU idled"},
      "means": {"enum": ["stopped", "traced", "frozen"], "description": "why it could not run: a signal stopped it, a tracer, its cgroup's freezer"},
      "stopped_by": {"type": "object", "description": "the signal, and the thread that sent it; none: the kernel", "additionalProperties": false,
        "required": ["signal"],
        "properties": {"signal": {"type": "string"}, "pid": {"$ref": "#/$defs/id"}, "tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"}}},
      "kernel_stack": {"$ref": "#/$defs/stack"},
      "waker": {"$ref": "#/$defs/waker"},
      "displaced_by": {"$ref": "#/$defs/who", "description": "preempted: who took the CPU"},
      "ran": {"$ref": "#/$defs/shares"},
      "ran_others_ns": {"$ref": "#/$defs/ns", "description": "threads that are not listed"},
      "throttled_by": {"$ref": "#/$defs/throttle", "description": "whose quota it was, where that is known"}
    },
    "additionalProperties": false
  },
  "link": {
    "type": "object",
    "description": "One step from a wait to what it waited for: a thread; or an interrupt, without pid, tid and comm",
    "required": ["what", "ns", "kernel_stack"],
    "properties": {
      "pid": {"$ref": "#/$defs/id"}, "tid": {"$ref": "#/$defs/id"}, "comm": {"type": "string"},
      "means": {"$ref": "#/$defs/means"},
      "disk": {"type": "string", "description": "of a disk completion"},
      "interrupted": {"$ref": "#/$defs/who", "description": "the thread that the interrupt interrupted, by chance"},
      "what": {"type": "string", "description": "ran; or waited, preempted, throttled, unknown: what the thread did in the place where it was longest; or the interrupt that ended it"},
      "ns": {"$ref": "#/$defs/ns", "description": "how long of the wait before it explains: waits of one place add up"},
      "during_ns": {"$ref": "#/$defs/ns", "description": "the time that the step is about: until the thread woke the one before"},
      "breakdown": {"$ref": "#/$defs/breakdown", "description": "what the thread did in that time; adds up to during_ns"},
      "blocked": {"$ref": "#/$defs/blocked"},
      "on_cpu": {"$ref": "#/$defs/on_cpu"},
      "places": {"type": "array", "items": {"$ref": "#/$defs/place"}, "description": "of its long waits in that time, longest first"},
      "runqueue_ns": {"$ref": "#/$defs/ns", "description": "of that: woken, waiting for a CPU"},
      "ran": {"$ref": "#/$defs/shares"}, "ran_others_ns": {"$ref": "#/$defs/ns"},
      "throttled_by": {"$ref": "#/$defs/throttle"},
      "kernel_stack": {"$ref": "#/$defs/stack"},
      "user_stack": {"$ref": "#/$defs/stack", "description": "where it was called from, if that was a stall too"},
      "waking_stack": {"$ref": "#/$defs/stack", "description": "from where in its program the thread woke the one before"},
      "root": {"const": true}, "cut": {"const": true, "description": "the chain goes on"}
    },
    "additionalProperties": false
  },
  "finding": {
    "type": "object",
    "required": ["number", "span", "name", "time_ns", "pid", "tid", "comm", "cpu", "latency_ns", "waits", "places", "chain", "cause"],
    "properties": {
      "number": {"$ref": "#/$defs/count"},
      "like": {"$ref": "#/$defs/count", "description": "the first finding of the same cause"},
      "span": {"type": "string", "description": "kind: syscall, offcpu, block, …; pair for the user's own"},
      "name": {"type": "string", "description": "system call, interrupt, disk, address, function, user's name"},
      "time_ns": {"$ref": "#/$defs/ns", "description": "its end, CLOCK_MONOTONIC; of a hang, when it was looked at"},
      "pid": {"$ref": "#/$defs/id"},
      "tid": {"$ref": "#/$defs/id", "description": "whose it was; of an interrupt, who was interrupted"},
      "comm": {"type": "string", "description": "empty where the thread has gone unnamed"},
      "thread": {"type": "string", "description": "the same"},
      "ended_by": {"$ref": "#/$defs/who", "description": "another thread, that ended it"},
      "cpu": {"$ref": "#/$defs/id"},
      "cgroup_id": {"$ref": "#/$defs/count"},
      "latency_ns": {"$ref": "#/$defs/ns"},
      "threshold_ns": {"$ref": "#/$defs/ns", "description": "of a hang: the timeout"},
      "late_ns": {"$ref": "#/$defs/ns", "description": "of a call, or off the CPU, in what may be no delay: latency_ns without what was meant to be waited"},
      "waited_for": {"enum": ["time", "work", "answer", "unknown"], "description": "in what may be no delay"},
      "decided_by": {"type": "string", "description": "what says so: a function of the program, its request, timed out, …"},
      "hang": {"$ref": "#/$defs/count", "description": "the finding that it was while it was open"},
      "state": {"enum": ["running", "runqueue", "sleeping", "uninterruptible", "preempted", "throttled", "unknown", "other"], "description": "of a call that hangs: what its thread does"},
      "way_back": {"const": true, "description": "the call had ended: it was late on its way back to the program; where it waited there, args and ret are not known"},
      "handler": {"type": "object", "description": "of a signal, in which the thread was on that way", "additionalProperties": false,
        "required": ["signal", "ns"],
        "properties": {"signal": {"type": "string"}, "ns": {"$ref": "#/$defs/ns", "description": "from its begin to its return"}}},
      "older": {"const": true, "description": "it began before the session: latency_ns is at least"},
      "args": {"type": "array", "items": {"type": "string"}, "description": "decoded arguments; of the user's own span, its key"},
      "ret": {"type": "integer"},
      "error": {"type": "string", "description": "name of the errno value"},
      "breakdown": {"$ref": "#/$defs/breakdown", "description": "adds up to latency_ns"},
      "blocked": {"$ref": "#/$defs/blocked"},
      "on_cpu": {"$ref": "#/$defs/on_cpu"},
      "waits": {"type": "array", "items": {"$ref": "#/$defs/wait"}, "description": "in time order; short ones may be missing"},
      "places": {"type": "array", "items": {"$ref": "#/$defs/place"}, "description": "of all its waits, also of short ones; where it was blocked longest first"},
      "waits_forgotten": {"const": true, "description": "waits of its beginning were not kept"},
      "kernel_stack": {"$ref": "#/$defs/stack", "description": "where it ended; of an interrupt, what was interrupted"},
      "user_stack": {"$ref": "#/$defs/stack"},
      "user_stack_end": {"type": "string", "description": "why it goes no further"},
      "chain": {"type": "array", "items": {"$ref": "#/$defs/link"}},
      "cause": {"type": "string", "description": "equal for equal causes"}
    }
  }
})json";

const char* const finding_lines = R"json([
  {
    "description": "A span that took as long as its threshold (stall), or has not ended yet (hang)",
    "properties": {"type": {"enum": ["stall", "hang"]}},
    "allOf": [{"$ref": "#/$defs/finding"}],
    "unevaluatedProperties": false
  },
  {
    "description": "How many more findings had the cause of another and are not shown",
    "required": ["like", "count"],
    "properties": {
      "type": {"const": "more"},
      "like": {"$ref": "#/$defs/count", "description": "the number of the first"},
      "name": {"type": "string", "description": "of the first"},
      "count": {"$ref": "#/$defs/count"},
      "latency_ns": {"$ref": "#/$defs/ns", "description": "of these, in all"},
      "longest_ns": {"$ref": "#/$defs/ns"}
    },
    "unevaluatedProperties": false
  }
])json";

}  // namespace overdue
