// `overdue worst hwlat`: with busy workload threads, or with the kernel's tracer.
#include "cli/worst_hwlat.h"

#include "kernel/capabilities.h"
#include "live/osnoise_probe_set.h"
#include "live/worst_kernel.h"
#include "probes/timerlat/threads.h"
#include "resolve/kernel_stacks.h"
#include "source/measure.h"
#include "source/run_session.h"
#include "source/trace_saver.h"

namespace overdue {
namespace {

int run_busy_threads(const HwlatRequest& request, const Kernel& kernel, MeasureListener& listener) {
  require_capabilities("worst", measuring_capabilities());
  check_real_time_budget();
  MeasureRequest measured;
  measured.command = "worst";
  measured.selection.kind = TargetKind::all;
  if (!request.cpus_text.empty()) {
    measured.selection.cpus = request.cpus;
    measured.selection.cpus_text = request.cpus_text;
  }
  measured.duration = request.duration;
  measured.quiet = request.output.quiet;
  measured.verbose = request.output.verbose;
  measured.streams = true;
  measured.workload_threads = true;
  measured.spans = {"hwlat"};
  measured.options = kept_options(request.plan);
  BusyThreads threads(busy_threads(request.plan, request.cpus));
  OsnoiseProbeSet probe_set(threads);
  return measure(measured, kernel, probe_set, listener);
}

int run_kernel_hwlat(const HwlatRequest& request, const Kernel& kernel, MeasureListener& listener) {
  LatencyTracer tracer({.tracer = "hwlat", .kept = kept_options(request.plan)}, kernel);
  RunRequest run;
  run.duration = request.duration;
  run.quiet = request.output.quiet;
  return run_session(run, tracer, listener);
}

}  // namespace

int run_hwlat(const HwlatRequest& request, const Kernel& kernel) {
  HwlatView view(request.plan, request.output);
  KernelStacks stacks;
  SavingListener saving(view, request.save, &stacks);
  return request.plan.by_kernel ? run_kernel_hwlat(request, kernel, saving)
                                : run_busy_threads(request, kernel, saving);
}

}  // namespace overdue
