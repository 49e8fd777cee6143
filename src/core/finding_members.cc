#include "core/finding_members.h"

#include <array>

namespace overdue {
namespace {

constexpr std::array<std::string_view, 2> interrupt_meanings{"timeout", "disk completion"};
constexpr std::array<std::string_view, 2> limits{"quota", "real_time"};
constexpr std::array<std::string_view, 6> wait_states{"sleeping",  "uninterruptible", "preempted",
                                                      "throttled", "unknown",         "other"};
constexpr std::array<std::string_view, 11> hang_states{
    "running", "runqueue", "sleeping", "uninterruptible", "preempted", "throttled",
    "unknown", "stopped",  "traced",   "frozen",          "other"};
constexpr std::array<std::string_view, 3> wait_reasons{"stopped", "traced", "frozen"};
constexpr std::array<std::string_view, 5> object_kinds{"file", "pipe", "socket", "unix", "other"};
constexpr std::array<std::string_view, 3> object_sides{"client", "server", "listener"};
constexpr std::array<std::string_view, 4> purposes{"time", "work", "answer", "unknown"};

std::optional<bool> marked(bool is_marked) {
  return when(is_marked, true);
}
template <typename T>
std::optional<T> if_any(T number) {
  return when(number > 0, number);
}

/// The members of a thread in an object that has others too.
void describe_thread(Members& member, const ThreadName& thread) {
  member("pid", if_any(thread.pid));
  member("tid", thread.tid);
  member("comm", thread.comm);
}

/// The interrupt of a Waker or a ChainLink.
template <typename T>
void describe_interrupt(Members& member, const T& by) {
  member.given(
      !by.is_thread && !by.means.empty(), "means", by.means,
      {.help = "meaning of the interrupt, by its functions; timeout: the waiting thread's own",
       .choices = interrupt_meanings});
  member.given(!by.is_thread && !by.disk.empty(), "disk", by.disk,
               {.help = "disk of a disk completion"});
  member.given(!by.is_thread, "interrupted", by.interrupted,
               {.help = "thread that the interrupt happened to interrupt"});
}

void describe_shares(Members& member, const CpuShares& shares) {
  const bool has_any = !shares.threads.empty() || shares.others_ns > 0;
  member.given(
      has_any, "ran", shares.threads,
      {.help = "known threads that had the CPU while this thread could run, longest first; tid "
               "0: the CPU idled. The time of an interrupt counts for the interrupted thread"});
  member("ran_others_ns", if_any(shares.others_ns),
         {.help = "run time of threads that are not listed"});
}

/// "breakdown", and the parts of its blocked_ns.
void describe_breakdown(Members& member, const std::optional<Breakdown>& breakdown,
                        std::string_view help) {
  member("breakdown", breakdown, {.help = help, .look = Look::parts});
  const Breakdown parts = breakdown.value_or(Breakdown{});
  member.object_if(breakdown.has_value(), "blocked",
                   [&] {
                     member.type("blocked", "The parts of a breakdown's blocked_ns");
                     member("sleeping_ns", parts.ns(ShareKind::sleeping));
                     member("uninterruptible_ns", parts.ns(ShareKind::uninterruptible));
                   },
                   {.look = Look::parts, .part_of = "blocked_ns"});
}

void describe_on_cpu(Members& member, const CpuPlaces& on_cpu, bool is_there = true) {
  member.given(is_there && on_cpu.samples > 0, "on_cpu", on_cpu);
}

}  // namespace

void describe(Members& member, const StackFrame& frame) {
  if (member.takes(frame)) return;
  member.type("frame", "A frame of a stack, innermost first");
  member("name", frame.name, {.help = "function; empty: unknown"});
  member("module", frame.module,
         {.help =
              "file; [kernel] or the name of a kernel module in brackets, [vdso], [jit], [python], "
              "[anon]; empty: unknown"});
  member("offset", frame.offset,
         {.help = "bytes into the function; without a name into the module; without a module the "
                  "address"});
  member.given(!frame.build_id.empty(), "build_id", frame.build_id,
               {.help = "build ID of the file"});
  member.given(frame.line > 0, "file", frame.file,
               {.help = "source file; with --lines, and of Python code"});
  member("line", if_any(frame.line), {.help = "line of the source file"});
  member("inlined", marked(frame.is_inlined),
         {.help = "true: the function is inlined into the next frame's"});
  member("gap", marked(frame.follows_gap), {.help = "true: frames may be missing before this one"});
}

void describe(Members& member, const ThreadName& thread) {
  member.type("who", "A thread; the pid is missing if it is unknown");
  describe_thread(member, thread);
}

void describe(Members& member, const Throttle& throttle) {
  member.type("throttle", "A cgroup whose CPU time was used up");
  member("limit", throttle.of_real_time ? limits[1] : limits[0],
         {.help = "real_time: the limit of the cgroup's real-time threads; of cgroup /: of all "
                  "real-time threads",
          .choices = limits});
  member("cgroup", throttle.cgroup, {.help = "path in the hierarchy of the cpu controller"});
  member("cgroup_id", throttle.cgroup_id, {.help = "id in this hierarchy"});
  member("quota_ns", throttle.quota_ns, {.help = "CPU time per period"});
  member("period_ns", throttle.period_ns);
}

void describe(Members& member, const Waker& waker) {
  member.type("waker",
              "The thread or interrupt that ended a wait. A soft interrupt in a thread's own call "
              "is the thread; an interrupt has no pid, tid and comm");
  member.given(waker.is_thread, "pid", waker.thread.pid);
  member.given(waker.is_thread, "tid", waker.thread.tid);
  member.given(waker.is_thread, "comm", waker.thread.comm);
  member("context", waker.context,
         {.help = "thread, softirq NET_RX, irq 24 virtio1-req.0, vector local_timer, unknown"});
  describe_interrupt(member, waker);
  member("stack", waker.stack);
}

void describe(Members& member, const StopSignal& stop) {
  const ThreadName sender = stop.sender.value_or(ThreadName{});
  member("signal", stop.name, {.help = "SIGSTOP, …"});
  member("pid", if_any(sender.pid), {.help = "process of the sender"});
  member.given(stop.sender.has_value(), "tid", sender.tid,
               {.help = "sender; missing: the kernel sent the signal"});
  member.given(stop.sender.has_value(), "comm", sender.comm);
}

void describe(Members& member, const CallObject& object) {
  member.type("object", "The object behind the descriptor that a call was given");
  member("kind", object.kind, {.choices = object_kinds});
  member("name", object.text,
         {.help = "path of a file; protocol and ends of a socket; name of a unix socket"});
  member.given(!object.local.empty(), "local", object.local, {.help = "address and port"});
  member.given(!object.remote.empty(), "remote", object.remote,
               {.help = "address and port of the peer"});
  member.given(!object.side.empty(), "side", object.side,
               {.help = "client: asked for the connection; server: was asked; listener: accepts "
                        "connections",
                .choices = object_sides});
  member("written_ns", object.written_ns,
         {.help = "TCP: time from the last data sent to the call's end, in steps of the tick"});
  member("received_ns", object.received_ns, {.help = "the same from the last data received"});
  member("resends", if_any(object.resends),
         {.help = "how often TCP sent the last data again, for lack of an acknowledgement"});
  member("resent_ns", if_any(object.resent_ns),
         {.help = "from the first time that this data was sent to the last time"});
}

void describe(Members& member, const CpuPlace& place) {
  member("samples", place.samples);
  member("stack", place.stack,
         {.help = "stack of one sample: functions of the kernel, if any, then of the program"});
}

void describe(Members& member, const CpuPlaces& on_cpu) {
  member.type("on_cpu", "The places in which a thread ran, from samples at the CPU's tick");
  member("samples", on_cpu.samples, {.help = "number of samples that were examined"});
  member("places", on_cpu.places, {.help = "places by function and caller, most samples first"});
}

void describe(Members& member, const CpuShare& share) {
  member.type("share", "The run time of a thread while another thread could run");
  describe_thread(member, share.thread);
  member("ns", share.ns, {.help = "nanoseconds"});
  describe_on_cpu(member, share.on_cpu);
}

void describe(Members& member, const Wait& wait) {
  member.type("wait", "A period off the CPU");
  member("ns", wait.ns, {.help = "nanoseconds from switched out to switched in"});
  member("runqueue_ns", wait.runqueue_ns, {.help = "part of ns: woken, waiting for a CPU"});
  member("throttled_ns", wait.throttled_ns,
         {.help = "part of ns: runnable, but throttled by the CPU quota of a cgroup"});
  member("state", wait.state,
         {.help = "unknown: the thread could run, yet its CPU idled", .choices = wait_states});
  member.given(
      !wait.means.empty(), "means", wait.means,
      {.help = "reason of the wait: a signal that stops, a tracer, the freezer of the cgroup",
       .choices = wait_reasons});
  member("stopped_by", wait.stop, {.help = "signal that stopped the thread, and its sender"});
  member("traced_by", wait.tracer, {.help = "traced: the tracer that stopped the thread"});
  member("kernel_stack", wait.kernel_stack);
  member("waker", wait.waker);
  member("displaced_by", wait.preempted_by, {.help = "preempted: the preempting thread"});
  describe_shares(member, wait.ran);
  member("throttled_by", wait.throttle, {.help = "the limit that was used up, if known"});
}

void describe(Members& member, const WaitPlace& place) {
  member.type("place", "Waits with the same state and kernel stack");
  member("state", place.state,
         {.help = "unknown: the thread could run, yet its CPU idled", .choices = wait_states});
  member("ns", place.ns,
         {.help = "sum of the waits from switched out to switched in, in nanoseconds"});
  member("blocked_ns", place.blocked_ns, {.help = "part of ns: the thread could not run"});
  member("longest_ns", place.longest_ns, {.help = "longest of these waits"});
  member("count", place.count, {.help = "number of waits"});
  member("kernel_stack", place.kernel_stack);
  describe_shares(member, place.ran);
}

void describe(Members& member, const Breakdown& parts) {
  member.type("breakdown", "The parts of a period");
  member("oncpu_ns", parts.ns(ShareKind::oncpu));
  member("runqueue_ns", parts.ns(ShareKind::runqueue));
  member("preempted_ns", parts.ns(ShareKind::preempted));
  member("throttled_ns", parts.ns(ShareKind::throttled));
  member("blocked_ns", parts.blocked_ns());
  member("irq_ns", parts.ns(ShareKind::irq));
  member("softirq_ns", parts.ns(ShareKind::softirq));
  member("unknown_ns", parts.unexplained_ns);
}

void describe(Members& member, const SignalHandler& handler) {
  member("signal", handler.signal, {.help = "SIGUSR1, …"});
  member("ns", handler.ns, {.help = "nanoseconds from the handler's begin to its return"});
}

namespace {

/// The activity of a step's thread in the step's window.
void describe_meanwhile(Members& member, const ChainLink& link) {
  const bool is_known = link.ledger.has_value();
  member.given(is_known, "during_ns", link.during_ns,
               {.help = "window of the step: until the thread woke the one before"});
  describe_breakdown(member, link.ledger,
                     "activity of the thread in this window; adds up to during_ns");
  describe_on_cpu(member, link.on_cpu, is_known);
  member.given(is_known, "places", link.places,
               {.help = "long waits of the thread in this window, longest first"});
}

}  // namespace

void describe(Members& member, const ChainLink& link) {
  member.type("link",
              "A step from a wait to its cause: a thread; or an interrupt, without pid, tid and "
              "comm");
  member.given(link.is_thread && link.thread.pid > 0, "pid", link.thread.pid);
  member.given(link.is_thread, "tid", link.thread.tid);
  member.given(link.is_thread, "comm", link.thread.comm);
  member("what", link.what,
         {.help = "ran; or the state of the thread in the place of its longest time: waited, "
                  "preempted, throttled, unknown; or the interrupt that ended the wait"});
  describe_interrupt(member, link);
  member("ns", link.ns,
         {.help = "part of the wait before that the step explains, in nanoseconds; waits in one "
                  "place add up"});
  member("runqueue_ns", if_any(link.runqueue_ns), {.help = "part of ns: woken, waiting for a CPU"});
  describe_shares(member, link.ran);
  member("throttled_by", link.throttle, {.help = "the limit that was used up, if known"});
  member("kernel_stack", link.kernel_stack, {.help = "stack of the wait or preemption"});
  member.given(!link.user_stack.empty(), "user_stack", link.user_stack,
               {.help = "user stack of the call with the wait, if this call was late too"});
  member.given(!link.waking_stack.empty(), "waking_stack", link.waking_stack,
               {.help = "user stack of the wake-up of the thread before"});
  describe_meanwhile(member, link);
  member("root", marked(link.is_root), {.help = "true: the step is the cause"});
  member("cut", marked(link.is_cut), {.help = "true: the chain is longer, but not followed"});
}

namespace {

void describe_operation(Members& member, const Finding& finding) {
  member("number", finding.number, {.help = "1, 2, … of this session"});
  member("like", if_any(finding.like), {.help = "number of the first finding with this cause"});
  member("span", finding.span,
         {.help = "kind: syscall, offcpu, block, …; pair: a span that the user defined"});
  member("name", finding.name,
         {.help = "system call, interrupt, disk, address, function, or the user's name"});
  member("time_ns", static_cast<std::uint64_t>(finding.time.time_since_epoch().count()),
         {.help = "end of the span on CLOCK_MONOTONIC; of a hang, when the call was looked at"});
  member("pid", finding.thread.pid);
  member("tid", finding.thread.tid,
         {.help = "thread of the span; of an interrupt, the interrupted thread"});
  member("comm", finding.thread.comm, {.help = "name of this thread; empty: unknown"});
  member("thread", finding.thread.comm, {.help = "the same as comm"});
  member("ended_by", finding.ended_by, {.help = "another thread, which ended the span"});
  member("cpu", finding.cpu, {.help = "CPU on which the span ended"});
  member("cgroup_id", if_any(finding.cgroup_id));
}

void describe_lateness(Members& member, const Finding& finding) {
  const bool has_purpose = !finding.purpose.of.empty();
  member("latency_ns", finding.latency_ns);
  member("threshold_ns", if_any(finding.threshold_ns),
         {.help = "threshold that the span passed; of a hang, the timeout"});
  member("late_ns", when(has_purpose, finding.late_ns()),
         {.help = "latency_ns without the intended wait; of spans that may be no delay"});
  member.given(has_purpose, "waited_for", finding.purpose.of,
               {.help = "purpose of the wait; of spans that may be no delay", .choices = purposes});
  member.given(
      has_purpose && !finding.purpose.by.empty(), "decided_by", finding.purpose.by,
      {.help = "basis of this decision: a function of the program, its request, timed out, …"});
  member("hang", if_any(finding.hang),
         {.help = "number of the finding of the same call while it was open"});
  member.given(!finding.state.empty(), "state", finding.state,
               {.help = "present state of the thread of a hang", .choices = hang_states});
  member("older", marked(finding.is_older),
         {.help = "true: the span began before the session, latency_ns is a lower bound"});
}

void describe_call(Members& member, const Finding& finding) {
  member("way_back", marked(finding.is_way_back),
         {.help = "true: the call was late after its end, on the way back to its program; if it "
                  "waited there, args and ret are unknown"});
  member("handler", finding.handler, {.help = "signal handler that ran on this way"});
  member.given(!finding.arguments.empty(), "args", finding.arguments,
               {.help = "decoded arguments; of a span that the user defined, its key"});
  member("object", finding.object, {.help = "object behind the call's descriptor"});
  member("ret", finding.result, {.help = "return value"});
  member.given(!finding.error.empty(), "error", finding.error,
               {.help = "name of the errno value in ret"});
}

void describe_explanation(Members& member, const Finding& finding) {
  const bool has_user_stack = finding.user_stack.has_value();
  describe_breakdown(member, finding.breakdown, "adds up to latency_ns");
  describe_on_cpu(member, finding.on_cpu);
  member("waits", finding.waits, {.help = "waits in time order; short ones may be missing"});
  member("places", finding.places,
         {.help = "places of all waits, short ones too; longest blocked first"});
  member("waits_forgotten", marked(finding.waits_forgotten),
         {.help = "true: waits at the beginning of the span were not kept"});
  member.given(!finding.kernel_stack.empty(), "kernel_stack", finding.kernel_stack,
               {.help = "stack at the end of the span; of an interrupt, of the interrupted code"});
  member("user_stack", finding.user_stack);
  member.given(has_user_stack && !finding.user_stack_end.empty(), "user_stack_end",
               finding.user_stack_end, {.help = "reason why the stack ends early"});
  member("chain", finding.chain, {.help = "steps from the longest wait to its cause"});
  member("cause", finding.cause, {.help = "equal for equal causes"});
}

}  // namespace

void describe(Members& member, const Finding& finding) {
  if (member.takes(finding)) return;
  member.type("finding",
              "A span that took at least as long as its threshold (stall), or has not ended yet "
              "(hang)");
  describe_operation(member, finding);
  describe_lateness(member, finding);
  describe_call(member, finding);
  describe_explanation(member, finding);
}

void describe(Members& member, const Repeats& repeats) {
  member.type("more", "Findings that are not shown, as another with the same cause is");
  member("like", repeats.number, {.help = "number of the first finding with the cause"});
  member("name", repeats.name, {.help = "name of the first finding"});
  member("count", repeats.count, {.help = "number of findings that are not shown"});
  member("latency_ns", repeats.latency_ns, {.help = "sum of the latencies of these findings"});
  member("longest_ns", repeats.longest_ns, {.help = "longest latency of these findings"});
}

}  // namespace overdue
