// Tables of functions that decide whether a wait is for work. One line per row; a row must be
// certain.
#include "analysis/wait_functions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::pair<std::string_view, WaitKind> call_kinds[] = {
    {"nanosleep", WaitKind::sleep},       {"clock_nanosleep", WaitKind::sleep},
    {"futex", WaitKind::condition},       {"futex_wait", WaitKind::condition},
    {"futex_waitv", WaitKind::condition}, {"epoll_wait", WaitKind::events},
    {"epoll_pwait", WaitKind::events},    {"epoll_pwait2", WaitKind::events},
    {"poll", WaitKind::events},           {"ppoll", WaitKind::events},
    {"select", WaitKind::events},         {"pselect6", WaitKind::events},
    {"accept", WaitKind::input},          {"accept4", WaitKind::input},
    {"wait4", WaitKind::input},           {"waitid", WaitKind::input},
    {"pause", WaitKind::input},           {"rt_sigsuspend", WaitKind::input},
    {"rt_sigtimedwait", WaitKind::input}, {"io_getevents", WaitKind::events},
    {"io_pgetevents", WaitKind::events},  {"msgrcv", WaitKind::input},
    {"mq_timedreceive", WaitKind::input},
};

constexpr std::pair<std::string_view, WaitKind> kernel_kinds[] = {
    {"do_nanosleep", WaitKind::sleep},
    {"hrtimer_nanosleep", WaitKind::sleep},
    {"do_futex", WaitKind::condition},
    {"futex_wait", WaitKind::condition},
    {"__futex_wait", WaitKind::condition},
    {"futex_wait_queue", WaitKind::condition},
    {"futex_wait_queue_me", WaitKind::condition},
    {"futex_do_wait", WaitKind::condition},
    {"futex_wait_multiple", WaitKind::condition},
    {"ep_poll", WaitKind::events},
    {"do_epoll_wait", WaitKind::events},
    {"do_poll", WaitKind::events},
    {"do_sys_poll", WaitKind::events},
    {"do_select", WaitKind::events},
    {"core_sys_select", WaitKind::events},
    {"poll_schedule_timeout", WaitKind::events},
    {"do_wait", WaitKind::input},
    {"kernel_wait4", WaitKind::input},
    {"do_sigtimedwait", WaitKind::input},
    {"sigsuspend", WaitKind::input},
    {"do_pause", WaitKind::input},
    {"anon_pipe_read", WaitKind::input},
    {"pipe_read", WaitKind::input},
    {"n_tty_read", WaitKind::input},
    {"eventfd_read", WaitKind::input},
    {"timerfd_read", WaitKind::input},
    {"timerfd_read_iter", WaitKind::input},
    {"signalfd_read_iter", WaitKind::input},
    {"signalfd_dequeue", WaitKind::input},
    {"inotify_read", WaitKind::input},
    {"inet_csk_accept", WaitKind::input},
    {"unix_accept", WaitKind::input},
    {"io_cqring_wait", WaitKind::events},
    {"__skb_wait_for_more_packets", WaitKind::input},
    {"unix_stream_data_wait", WaitKind::input},
    {"unix_stream_read_generic", WaitKind::input},  // with the above inlined
    {"sk_wait_data", WaitKind::input},
};

constexpr RowReach by_caller = RowReach::caller, if_none_else = RowReach::fallback;

constexpr WaitFunction function_rows[] = {
    // The C library.
    {"pthread_mutex_*lock", "answer"},
    {"__pthread_mutex_*lock*", "answer"},
    {"__lll_lock_wait*", "answer"},
    {"pthread_rwlock_*lock", "answer"},
    {"__pthread_rwlock_*lock*", "answer"},
    {"pthread_join", "answer"},
    {"pthread_timedjoin_np", "answer"},
    {"pthread_clockjoin_np", "answer"},
    {"__pthread_clockjoin_ex", "answer"},
    {"pthread_barrier_wait", "answer"},
    {"getaddrinfo", "answer"},
    {"getnameinfo", "answer"},
    {"gethostby*", "answer"},
    {"res_*", "answer"},
    {"__res_*", "answer"},
    {"getpw*", "answer"},
    {"system", "answer"},
    {"pclose", "answer"},
    // C++.
    {"std::__future_base::*", "answer"},
    {"std::future*", "answer"},
    {"std::shared_future*", "answer"},
    {"std::thread::join", "answer"},
    // Clients.
    {"PQ*", "answer"},
    {"mysql_*", "answer"},
    {"redisConnect*", "answer"},
    {"redisCommand*", "answer"},
    {"redisGetReply*", "answer"},
    {"curl_easy_perform", "answer"},
    {"SSL_connect", "answer"},
    {"ldap_*", "answer"},
    {"clnt_call", "answer"},
    {"mongoc_*", "answer"},
    {"xcb_wait_for_reply*", "answer"},
    {"xcb_wait_for_event", "work"},
    {"dbus_connection_send_with_reply_and_block", "answer"},
    {"sd_bus_call*", "answer"},
    {"g_dbus_*_sync", "answer"},
    // Loops of libraries. If a caller runs the loop for one answer, the caller's row decides.
    {"uv_run", "work", if_none_else},
    {"uv__io_poll", "work", if_none_else},
    {"event_base_*loop", "work", if_none_else},
    {"event_base_dispatch", "work", if_none_else},
    {"ev_run", "work", if_none_else},
    {"g_main_context_iteration", "work", if_none_else},
    {"g_main_loop_run", "work", if_none_else},
    {"g_thread_pool_thread_proxy", "work", by_caller},
    {"g_async_queue_*pop*", "work"},
    {"QThreadPoolThread::run", "work", by_caller},
    {"sd_event_*run", "work", if_none_else},
    {"sd_event_loop", "work", if_none_else},
    {"QEventLoop::exec", "work", if_none_else},
    {"boost::asio::detail::scheduler::run", "work", if_none_else},
    {"boost::asio::detail::epoll_reactor::run", "work", if_none_else},
    // Node.
    {"node::SyncProcessRunner::*", "answer"},
    {"node::SpinEventLoop*", "work", if_none_else},
    {"node::*PlatformWorkerThread", "work", by_caller},
    {"node::*BlockingPop", "work"},
    {"v8::platform::*::GetNext", "work"},
    // Java: HotSpot's own threads.
    {"SafepointSynchronize::block", "answer"},
    {"ObjectMonitor::enter*", "answer"},
    {"Monitor::lock*", "answer"},
    {"Mutex::lock*", "answer"},
    {"wait_init_completed", "answer"},
    {"JavaThread::sleep*", "time"},
    {"WatcherThread::sleep", "work", by_caller},
    {"VMThread::wait_for_operation", "work", by_caller},
    {"VMThread::loop", "work", by_caller},
    {"CompileQueue::get", "work", by_caller},
    {"NMethodSweeper::sweeper_loop", "work", by_caller},
    {"ServiceThread::service_thread_entry", "work", by_caller},
    {"NotificationThread::notification_thread_entry", "work", by_caller},
    {"MonitorDeflationThread::monitor_deflation_thread_entry", "work", by_caller},
    {"JVM_WaitForReferencePendingList", "work", by_caller},
    {"os::signal_wait", "work", by_caller},
    {"signal_thread_entry", "work", by_caller},
    {"AttachListener::dequeue", "work"},
    {"GangWorker::loop", "work", by_caller},
    {"GangWorker::run", "work", by_caller},
    {"WorkerThread::run", "work", by_caller},
    {"WorkerTaskDispatcher::worker_run_task", "work", by_caller},
    {"G1ServiceThread::*", "work", by_caller},
    {"G1ConcurrentMarkThread::*", "work", by_caller},
    {"G1*ConcurrentRefineThread::*", "work", by_caller},
    {"ShenandoahControlThread::run_service", "work", by_caller},
    {"JVM_MonitorWait", "work", RowReach::anywhere, "Finalizer"},
    {"JVM_MonitorWait", "work", RowReach::anywhere, "Common-Cleaner"},
    {"Unsafe_Park", "work", RowReach::anywhere, "Reference Handl"},
    {"Unsafe_Park", "work", RowReach::anywhere, "Finalizer"},
    {"Unsafe_Park", "work", RowReach::anywhere, "Common-Cleaner"},
    // Go.
    {"runtime.lock2", "answer"},
    {"runtime.sysmon", "work"},
    {"runtime.netpoll", "work"},
    {"runtime.stopm", "work"},
    {"runtime.findRunnable", "work"},
    {"runtime.findrunnable", "work"},
    {"runtime.templateThread", "work"},
    {"os/signal.signal_recv", "work"},
    // Rust.
    {"std::sync::mp?c::*recv*", "work"},
    {"<std::sync::mp?c::*recv*", "work"},
    {"<std::sync::mp?c::*next", "work"},
    {"crossbeam_channel::*recv*", "work"},
    {"tokio::runtime::blocking::pool::Inner::run", "work", by_caller},
    {"tokio::runtime::*::park*", "work"},
    {"mio::poll::Poll::poll", "work", if_none_else},
    // Python.
    {"_queue_SimpleQueue_get*", "work"},
    {"Queue.get", "work"},
    {"Future.result", "answer"},
    {"Barrier.wait", "answer"},
    {"take_gil", "answer"},
    {"PyEval_RestoreThread", "answer"},
    {"PyEval_AcquireThread", "answer"},
    // PostgreSQL.
    {"ProcSleep", "answer"},
    {"LWLockAcquire*", "answer"},
    {"ConditionVariable*Sleep", "answer"},
    {"SyncRepWaitForLSN", "answer"},
    {"ProcWaitForSignal", "answer"},
    {"secure_write", "answer"},
    {"pg_sleep", "time"},
    {"CheckpointWriteDelay", "work"},
    {"secure_read", "work"},
    {"pq_getbyte", "work"},
    {"WalSnd*", "work"},
    {"BackgroundWriterMain", "work", by_caller},
    {"CheckpointerMain", "work", by_caller},
    {"WalWriterMain", "work", by_caller},
    {"WalReceiverMain", "work", by_caller},
    {"WalSummarizerMain", "work", if_none_else},
    {"PgArchiverMain", "work", if_none_else},
    {"AutoVacLauncherMain", "work", if_none_else},
    {"ApplyLauncherMain", "work", if_none_else},
    {"IoWorkerMain", "work", by_caller},
    {"SysLoggerMain", "work", by_caller},
    {"StartAutoVacLauncher", "work", if_none_else},
    {"StartBackgroundWorker", "work", if_none_else},
    {"PostmasterMain", "work", if_none_else},
    // MariaDB and MySQL: a thread that has taken a command serves a client.
    {"Item_func_sleep::val_int", "time"},
    {"mysql_binlog_send", "work"},
    {"dispatch_command", "answer"},
    // Other servers.
    {"aeApiPoll", "work", by_caller},
    {"aeProcessEvents", "work", by_caller},
    {"aeMain", "work", if_none_else},
    {"aeWait", "answer"},
    {"bioProcessBackgroundJobs", "work", by_caller},
    {"ngx_epoll_process_events", "work", by_caller},
    {"ngx_process_events_and_timers", "work", if_none_else},
    {"ngx_master_process_cycle", "work", by_caller},
    {"ngx_cache_*_process_cycle", "work", if_none_else},
    {"ngx_thread_pool_cycle", "work", by_caller},
};

constexpr std::string_view wait_wrappers[] = {
    "pthread_cond_*wait",
    "__pthread_cond_*wait*",
    "__futex_abstimed_wait*",
    "__new_sem_wait*",
    "sem_*wait",
    "std::condition_variable*::*wait*",
    "std::_V2::condition_variable*::*wait*",
    "std::__condvar::wait*",
    "std::__atomic_*",
    "uv_cond_*wait",
    "uv_sem_wait",
    "g_cond_wait*",
    "os::Platform*::wait",
    "os::Platform*::park*",
    "Monitor::wait*",
    "PosixSemaphore::*wait*",
    "Semaphore::wait*",
    "std::thread::park*",
    "<std::thread::*Thread>::park*",
    "std::sync::mp?c::*",
    "<std::sync::mp?c::*",
    "std::sync::*::lock*",
    "std::sys::*futex*",
    "<std::sys::*futex*",
    "PyThread_acquire_lock*",
    "Condition.wait*",
    "Event.wait",
    "WaitEventSetWait",
    "WaitLatch*",
};

constexpr std::string_view thread_starts[] = {
    "[thread start]",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "execute_native_thread_routine",
    "std::thread::_*",
    "*std::__invoke*",
    "std::sys::*thread_start",
    "<std::sys::*thread_start",
    "g_thread_proxy",
    "uv__thread_start",
    "thread_native_entry",
    "Thread::call_run",
    "JavaThread::run",
    "JavaThread::thread_main_inner",
    "ConcurrentGCThread::run",
};

/// Rust calls a thread's closure, main() and callbacks through these. The compiler may have put the
/// program's own functions into them.
constexpr std::string_view rust_glue[] = {
    "std::sys::backtrace::__rust_begin_short_backtrace*",
    "std::sys_common::backtrace::__rust_begin_short_backtrace*",
    "core::ops::function::Fn*",
    "<alloc::boxed::Box<*Fn*",
    "std::panic::catch_unwind*",
    "std::panicking::*",
    "std::rt::lang_start*",
    "std::thread::*::spawn_unchecked*",
    "__rust_try*",
};

template <std::size_t N>
WaitKind kind_in(const std::pair<std::string_view, WaitKind> (&table)[N], std::string_view name) {
  const auto* const row =
      std::find_if(table, table + N, [name](const auto& one) { return one.first == name; });
  return row == table + N ? WaitKind::none : row->second;
}

template <std::size_t N>
bool is_in(const std::string_view (&globs)[N], std::string_view function) {
  return std::any_of(globs, globs + N,
                     [function](std::string_view glob) { return is_named(glob, function); });
}

}  // namespace

WaitKind wait_kind_of_call(std::string_view call) {
  return kind_in(call_kinds, call);
}

WaitKind wait_kind_of_kernel(std::string_view function) {
  return kind_in(kernel_kinds, function.substr(0, function.find('.')));
}

std::span<const WaitFunction> wait_functions() {
  return function_rows;
}

bool is_wait_wrapper(std::string_view function) {
  return is_in(wait_wrappers, function);
}

bool is_glue(std::string_view function) {
  return is_in(rust_glue, function);
}

bool is_thread_start(std::string_view function) {
  return is_in(thread_starts, function);
}

// For speed, compares the first letters, in which most globs differ from most functions.
bool is_named(std::string_view glob, std::string_view function) {
  if (glob.empty() || function.empty()) return glob == function;
  // Most of the many pairs that are compared differ in the first character.
  const char first = glob.front();
  const bool is_plain = first != '*' && first != '?' && first != '[' && first != '\\';
  if (is_plain && first != function.front()) return false;
  const std::string_view begin = glob.substr(0, glob.find_first_of("*?[\\"));
  return function.starts_with(begin) && glob_matches(glob, function);
}

}  // namespace overdue
