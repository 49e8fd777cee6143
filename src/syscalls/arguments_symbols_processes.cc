// Values of the x86 system call interface: memory, processes, signals and time. Numbers, not
// macros: they must not depend on the headers of the machine that builds, and
// arguments_symbols_test.py compares them with its headers.
#include "syscalls/arguments_symbols.h"

namespace overdue {
namespace {

constexpr Symbol memory_protection_values[] = {{1, "PROT_READ"},
                                               {2, "PROT_WRITE"},
                                               {4, "PROT_EXEC"},
                                               {8, "PROT_SEM"},
                                               {0x1000000, "PROT_GROWSDOWN"},
                                               {0x2000000, "PROT_GROWSUP"},
                                               {0, "PROT_NONE"}};
constexpr Symbol map_flags_values[] = {{1, "MAP_SHARED"},
                                       {2, "MAP_PRIVATE"},
                                       {3, "MAP_SHARED_VALIDATE"},
                                       {8, "MAP_DROPPABLE"},
                                       {0x10, "MAP_FIXED"},
                                       {0x20, "MAP_ANONYMOUS"},
                                       {0x40, "MAP_32BIT"},
                                       {0x80, "MAP_ABOVE4G"},
                                       {0x100, "MAP_GROWSDOWN"},
                                       {0x800, "MAP_DENYWRITE"},
                                       {0x1000, "MAP_EXECUTABLE"},
                                       {0x2000, "MAP_LOCKED"},
                                       {0x4000, "MAP_NORESERVE"},
                                       {0x8000, "MAP_POPULATE"},
                                       {0x10000, "MAP_NONBLOCK"},
                                       {0x20000, "MAP_STACK"},
                                       {0x40000, "MAP_HUGETLB"},
                                       {0x80000, "MAP_SYNC"},
                                       {0x100000, "MAP_FIXED_NOREPLACE"}};
constexpr Symbol remap_flags_values[] = {
    {1, "MREMAP_MAYMOVE"}, {2, "MREMAP_FIXED"}, {4, "MREMAP_DONTUNMAP"}};
constexpr Symbol msync_flags_values[] = {{1, "MS_ASYNC"}, {2, "MS_INVALIDATE"}, {4, "MS_SYNC"}};
constexpr Symbol mlock2_flags_values[] = {{1, "MLOCK_ONFAULT"}};
constexpr Symbol mlockall_flags_values[] = {
    {1, "MCL_CURRENT"}, {2, "MCL_FUTURE"}, {4, "MCL_ONFAULT"}};
constexpr Symbol memory_advice_values[] = {{0, "MADV_NORMAL"},
                                           {1, "MADV_RANDOM"},
                                           {2, "MADV_SEQUENTIAL"},
                                           {3, "MADV_WILLNEED"},
                                           {4, "MADV_DONTNEED"},
                                           {8, "MADV_FREE"},
                                           {9, "MADV_REMOVE"},
                                           {0xa, "MADV_DONTFORK"},
                                           {0xb, "MADV_DOFORK"},
                                           {0xc, "MADV_MERGEABLE"},
                                           {0xd, "MADV_UNMERGEABLE"},
                                           {0xe, "MADV_HUGEPAGE"},
                                           {0xf, "MADV_NOHUGEPAGE"},
                                           {0x10, "MADV_DONTDUMP"},
                                           {0x11, "MADV_DODUMP"},
                                           {0x12, "MADV_WIPEONFORK"},
                                           {0x13, "MADV_KEEPONFORK"},
                                           {0x14, "MADV_COLD"},
                                           {0x15, "MADV_PAGEOUT"},
                                           {0x16, "MADV_POPULATE_READ"},
                                           {0x17, "MADV_POPULATE_WRITE"},
                                           {0x18, "MADV_DONTNEED_LOCKED"},
                                           {0x19, "MADV_COLLAPSE"},
                                           {0x64, "MADV_HWPOISON"},
                                           {0x65, "MADV_SOFT_OFFLINE"},
                                           {0x66, "MADV_GUARD_INSTALL"},
                                           {0x67, "MADV_GUARD_REMOVE"}};
constexpr Symbol memory_policy_values[] = {{0, "MPOL_DEFAULT"},
                                           {1, "MPOL_PREFERRED"},
                                           {2, "MPOL_BIND"},
                                           {3, "MPOL_INTERLEAVE"},
                                           {4, "MPOL_LOCAL"},
                                           {5, "MPOL_PREFERRED_MANY"},
                                           {6, "MPOL_WEIGHTED_INTERLEAVE"},
                                           {0x2000, "MPOL_F_NUMA_BALANCING"},
                                           {0x4000, "MPOL_F_RELATIVE_NODES"},
                                           {0x8000, "MPOL_F_STATIC_NODES"}};
constexpr Symbol memory_policy_flags_values[] = {
    {1, "MPOL_F_NODE"}, {2, "MPOL_F_ADDR"}, {4, "MPOL_F_MEMS_ALLOWED"}};
constexpr Symbol bind_policy_flags_values[] = {
    {1, "MPOL_MF_STRICT"}, {2, "MPOL_MF_MOVE"}, {4, "MPOL_MF_MOVE_ALL"}};
constexpr Symbol pkey_rights_values[] = {{1, "PKEY_DISABLE_ACCESS"}, {2, "PKEY_DISABLE_WRITE"}};
constexpr Symbol clone_bits_values[] = {{0x100, "CLONE_VM"},
                                        {0x200, "CLONE_FS"},
                                        {0x400, "CLONE_FILES"},
                                        {0x800, "CLONE_SIGHAND"},
                                        {0x1000, "CLONE_PIDFD"},
                                        {0x2000, "CLONE_PTRACE"},
                                        {0x4000, "CLONE_VFORK"},
                                        {0x8000, "CLONE_PARENT"},
                                        {0x10000, "CLONE_THREAD"},
                                        {0x20000, "CLONE_NEWNS"},
                                        {0x40000, "CLONE_SYSVSEM"},
                                        {0x80000, "CLONE_SETTLS"},
                                        {0x100000, "CLONE_PARENT_SETTID"},
                                        {0x200000, "CLONE_CHILD_CLEARTID"},
                                        {0x400000, "CLONE_DETACHED"},
                                        {0x800000, "CLONE_UNTRACED"},
                                        {0x1000000, "CLONE_CHILD_SETTID"},
                                        {0x2000000, "CLONE_NEWCGROUP"},
                                        {0x4000000, "CLONE_NEWUTS"},
                                        {0x8000000, "CLONE_NEWIPC"},
                                        {0x10000000, "CLONE_NEWUSER"},
                                        {0x20000000, "CLONE_NEWPID"},
                                        {0x40000000, "CLONE_NEWNET"},
                                        {0x80000000, "CLONE_IO"}};
constexpr Symbol unshare_flags_values[] = {
    {0x80, "CLONE_NEWTIME"},      {0x200, "CLONE_FS"},         {0x400, "CLONE_FILES"},
    {0x40000, "CLONE_SYSVSEM"},   {0x20000, "CLONE_NEWNS"},    {0x2000000, "CLONE_NEWCGROUP"},
    {0x4000000, "CLONE_NEWUTS"},  {0x8000000, "CLONE_NEWIPC"}, {0x10000000, "CLONE_NEWUSER"},
    {0x20000000, "CLONE_NEWPID"}, {0x40000000, "CLONE_NEWNET"}};
constexpr Symbol wait_options_values[] = {{1, "WNOHANG"},         {2, "WUNTRACED"},
                                          {4, "WEXITED"},         {8, "WCONTINUED"},
                                          {0x1000000, "WNOWAIT"}, {0x20000000, "__WNOTHREAD"},
                                          {0x40000000, "__WALL"}, {0x80000000, "__WCLONE"}};
constexpr Symbol wait_kind_values[] = {{0, "P_ALL"}, {1, "P_PID"}, {2, "P_PGID"}, {3, "P_PIDFD"}};
constexpr Symbol arch_prctl_option_values[] = {
    {0x1001, "ARCH_SET_GS"},         {0x1002, "ARCH_SET_FS"},
    {0x1003, "ARCH_GET_FS"},         {0x1004, "ARCH_GET_GS"},
    {0x1011, "ARCH_GET_CPUID"},      {0x1012, "ARCH_SET_CPUID"},
    {0x1021, "ARCH_GET_XCOMP_SUPP"}, {0x1022, "ARCH_GET_XCOMP_PERM"},
    {0x1023, "ARCH_REQ_XCOMP_PERM"}, {0x3001, "ARCH_CET_STATUS"},
    {0x5001, "ARCH_SHSTK_ENABLE"},   {0x5002, "ARCH_SHSTK_DISABLE"},
    {0x5005, "ARCH_SHSTK_STATUS"}};
constexpr Symbol prctl_option_values[] = {{0x18, "PR_CAPBSET_DROP"},
                                          {0x17, "PR_CAPBSET_READ"},
                                          {0x2f, "PR_CAP_AMBIENT"},
                                          {0x25, "PR_GET_CHILD_SUBREAPER"},
                                          {3, "PR_GET_DUMPABLE"},
                                          {0x13, "PR_GET_ENDIAN"},
                                          {9, "PR_GET_FPEMU"},
                                          {0xb, "PR_GET_FPEXC"},
                                          {0x2e, "PR_GET_FP_MODE"},
                                          {0x3a, "PR_GET_IO_FLUSHER"},
                                          {7, "PR_GET_KEEPCAPS"},
                                          {0x10, "PR_GET_NAME"},
                                          {0x27, "PR_GET_NO_NEW_PRIVS"},
                                          {2, "PR_GET_PDEATHSIG"},
                                          {0x15, "PR_GET_SECCOMP"},
                                          {0x1b, "PR_GET_SECUREBITS"},
                                          {0x34, "PR_GET_SPECULATION_CTRL"},
                                          {0x38, "PR_GET_TAGGED_ADDR_CTRL"},
                                          {0x2a, "PR_GET_THP_DISABLE"},
                                          {0x28, "PR_GET_TID_ADDRESS"},
                                          {0x1e, "PR_GET_TIMERSLACK"},
                                          {0xd, "PR_GET_TIMING"},
                                          {0x19, "PR_GET_TSC"},
                                          {5, "PR_GET_UNALIGN"},
                                          {0x21, "PR_MCE_KILL"},
                                          {0x22, "PR_MCE_KILL_GET"},
                                          {0x2c, "PR_MPX_DISABLE_MANAGEMENT"},
                                          {0x2b, "PR_MPX_ENABLE_MANAGEMENT"},
                                          {0x3d, "PR_PAC_GET_ENABLED_KEYS"},
                                          {0x36, "PR_PAC_RESET_KEYS"},
                                          {0x3c, "PR_PAC_SET_ENABLED_KEYS"},
                                          {0x3e, "PR_SCHED_CORE"},
                                          {0x24, "PR_SET_CHILD_SUBREAPER"},
                                          {4, "PR_SET_DUMPABLE"},
                                          {0x14, "PR_SET_ENDIAN"},
                                          {0xa, "PR_SET_FPEMU"},
                                          {0xc, "PR_SET_FPEXC"},
                                          {0x2d, "PR_SET_FP_MODE"},
                                          {0x39, "PR_SET_IO_FLUSHER"},
                                          {8, "PR_SET_KEEPCAPS"},
                                          {0x23, "PR_SET_MM"},
                                          {0xf, "PR_SET_NAME"},
                                          {0x26, "PR_SET_NO_NEW_PRIVS"},
                                          {1, "PR_SET_PDEATHSIG"},
                                          {0x59616d61, "PR_SET_PTRACER"},
                                          {0x16, "PR_SET_SECCOMP"},
                                          {0x1c, "PR_SET_SECUREBITS"},
                                          {0x35, "PR_SET_SPECULATION_CTRL"},
                                          {0x3b, "PR_SET_SYSCALL_USER_DISPATCH"},
                                          {0x37, "PR_SET_TAGGED_ADDR_CTRL"},
                                          {0x29, "PR_SET_THP_DISABLE"},
                                          {0x1d, "PR_SET_TIMERSLACK"},
                                          {0xe, "PR_SET_TIMING"},
                                          {0x1a, "PR_SET_TSC"},
                                          {6, "PR_SET_UNALIGN"},
                                          {0x53564d41, "PR_SET_VMA"},
                                          {0x40, "PR_SME_GET_VL"},
                                          {0x3f, "PR_SME_SET_VL"},
                                          {0x33, "PR_SVE_GET_VL"},
                                          {0x32, "PR_SVE_SET_VL"},
                                          {0x1f, "PR_TASK_PERF_EVENTS_DISABLE"},
                                          {0x20, "PR_TASK_PERF_EVENTS_ENABLE"}};
constexpr Symbol ptrace_request_values[] = {{0, "PTRACE_TRACEME"},
                                            {1, "PTRACE_PEEKTEXT"},
                                            {2, "PTRACE_PEEKDATA"},
                                            {3, "PTRACE_PEEKUSER"},
                                            {4, "PTRACE_POKETEXT"},
                                            {5, "PTRACE_POKEDATA"},
                                            {6, "PTRACE_POKEUSER"},
                                            {7, "PTRACE_CONT"},
                                            {8, "PTRACE_KILL"},
                                            {9, "PTRACE_SINGLESTEP"},
                                            {0xc, "PTRACE_GETREGS"},
                                            {0xd, "PTRACE_SETREGS"},
                                            {0xe, "PTRACE_GETFPREGS"},
                                            {0xf, "PTRACE_SETFPREGS"},
                                            {0x10, "PTRACE_ATTACH"},
                                            {0x11, "PTRACE_DETACH"},
                                            {0x18, "PTRACE_SYSCALL"},
                                            {0x4200, "PTRACE_SETOPTIONS"},
                                            {0x4201, "PTRACE_GETEVENTMSG"},
                                            {0x4202, "PTRACE_GETSIGINFO"},
                                            {0x4203, "PTRACE_SETSIGINFO"},
                                            {0x4204, "PTRACE_GETREGSET"},
                                            {0x4205, "PTRACE_SETREGSET"},
                                            {0x4206, "PTRACE_SEIZE"},
                                            {0x4207, "PTRACE_INTERRUPT"},
                                            {0x4208, "PTRACE_LISTEN"},
                                            {0x4209, "PTRACE_PEEKSIGINFO"},
                                            {0x420a, "PTRACE_GETSIGMASK"},
                                            {0x420b, "PTRACE_SETSIGMASK"},
                                            {0x420c, "PTRACE_SECCOMP_GET_FILTER"},
                                            {0x420d, "PTRACE_SECCOMP_GET_METADATA"},
                                            {0x420e, "PTRACE_GET_SYSCALL_INFO"},
                                            {0x420f, "PTRACE_GET_RSEQ_CONFIGURATION"},
                                            {0x4210, "PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG"},
                                            {0x4211, "PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG"},
                                            {0x4212, "PTRACE_SET_SYSCALL_INFO"}};
constexpr Symbol sched_policy_values[] = {{0, "SCHED_OTHER"}, {1, "SCHED_FIFO"},
                                          {2, "SCHED_RR"},    {3, "SCHED_BATCH"},
                                          {5, "SCHED_IDLE"},  {6, "SCHED_DEADLINE"},
                                          {7, "SCHED_EXT"},   {0x40000000, "SCHED_RESET_ON_FORK"}};
constexpr Symbol priority_kind_values[] = {{0, "PRIO_PROCESS"}, {1, "PRIO_PGRP"}, {2, "PRIO_USER"}};
constexpr Symbol ioprio_kind_values[] = {
    {1, "IOPRIO_WHO_PROCESS"}, {2, "IOPRIO_WHO_PGRP"}, {3, "IOPRIO_WHO_USER"}};
constexpr Symbol resource_values[] = {
    {0, "RLIMIT_CPU"},        {1, "RLIMIT_FSIZE"},   {2, "RLIMIT_DATA"},
    {3, "RLIMIT_STACK"},      {4, "RLIMIT_CORE"},    {5, "RLIMIT_RSS"},
    {6, "RLIMIT_NPROC"},      {7, "RLIMIT_NOFILE"},  {8, "RLIMIT_MEMLOCK"},
    {9, "RLIMIT_AS"},         {0xa, "RLIMIT_LOCKS"}, {0xb, "RLIMIT_SIGPENDING"},
    {0xc, "RLIMIT_MSGQUEUE"}, {0xd, "RLIMIT_NICE"},  {0xe, "RLIMIT_RTPRIO"},
    {0xf, "RLIMIT_RTTIME"}};
constexpr Symbol usage_of_values[] = {
    {0, "RUSAGE_SELF"}, {0xffffffff, "RUSAGE_CHILDREN"}, {1, "RUSAGE_THREAD"}};
constexpr Symbol itimer_values[] = {{0, "ITIMER_REAL"}, {1, "ITIMER_VIRTUAL"}, {2, "ITIMER_PROF"}};
constexpr Symbol clock_id_values[] = {
    {0, "CLOCK_REALTIME"},          {1, "CLOCK_MONOTONIC"},     {2, "CLOCK_PROCESS_CPUTIME_ID"},
    {3, "CLOCK_THREAD_CPUTIME_ID"}, {4, "CLOCK_MONOTONIC_RAW"}, {5, "CLOCK_REALTIME_COARSE"},
    {6, "CLOCK_MONOTONIC_COARSE"},  {7, "CLOCK_BOOTTIME"},      {8, "CLOCK_REALTIME_ALARM"},
    {9, "CLOCK_BOOTTIME_ALARM"},    {0xb, "CLOCK_TAI"}};
constexpr Symbol signal_how_values[] = {{0, "SIG_BLOCK"}, {1, "SIG_UNBLOCK"}, {2, "SIG_SETMASK"}};
constexpr Symbol signal_name_values[] = {
    {1, "SIGHUP"},     {2, "SIGINT"},       {3, "SIGQUIT"},    {4, "SIGILL"},
    {5, "SIGTRAP"},    {6, "SIGABRT"},      {7, "SIGBUS"},     {8, "SIGFPE"},
    {9, "SIGKILL"},    {0xa, "SIGUSR1"},    {0xb, "SIGSEGV"},  {0xc, "SIGUSR2"},
    {0xd, "SIGPIPE"},  {0xe, "SIGALRM"},    {0xf, "SIGTERM"},  {0x10, "SIGSTKFLT"},
    {0x11, "SIGCHLD"}, {0x12, "SIGCONT"},   {0x13, "SIGSTOP"}, {0x14, "SIGTSTP"},
    {0x15, "SIGTTIN"}, {0x16, "SIGTTOU"},   {0x17, "SIGURG"},  {0x18, "SIGXCPU"},
    {0x19, "SIGXFSZ"}, {0x1a, "SIGVTALRM"}, {0x1b, "SIGPROF"}, {0x1c, "SIGWINCH"},
    {0x1d, "SIGIO"},   {0x1e, "SIGPWR"},    {0x1f, "SIGSYS"}};
constexpr Symbol pidfd_open_flags_values[] = {{0x800, "PIDFD_NONBLOCK"}, {0x80, "PIDFD_THREAD"}};
constexpr Symbol pidfd_signal_flags_values[] = {{1, "PIDFD_SIGNAL_THREAD"},
                                                {2, "PIDFD_SIGNAL_THREAD_GROUP"},
                                                {4, "PIDFD_SIGNAL_PROCESS_GROUP"}};
constexpr Symbol futex_command_values[] = {{0, "FUTEX_WAIT"},
                                           {1, "FUTEX_WAKE"},
                                           {2, "FUTEX_FD"},
                                           {3, "FUTEX_REQUEUE"},
                                           {4, "FUTEX_CMP_REQUEUE"},
                                           {5, "FUTEX_WAKE_OP"},
                                           {6, "FUTEX_LOCK_PI"},
                                           {7, "FUTEX_UNLOCK_PI"},
                                           {8, "FUTEX_TRYLOCK_PI"},
                                           {9, "FUTEX_WAIT_BITSET"},
                                           {0xa, "FUTEX_WAKE_BITSET"},
                                           {0xb, "FUTEX_WAIT_REQUEUE_PI"},
                                           {0xc, "FUTEX_CMP_REQUEUE_PI"},
                                           {0xd, "FUTEX_LOCK_PI2"}};
constexpr Symbol futex2_flags_values[] = {
    {0, "FUTEX2_SIZE_U8"}, {1, "FUTEX2_SIZE_U16"}, {2, "FUTEX2_SIZE_U32"},  {3, "FUTEX2_SIZE_U64"},
    {4, "FUTEX2_NUMA"},    {8, "FUTEX2_MPOL"},     {0x80, "FUTEX2_PRIVATE"}};

}  // namespace

const Symbols memory_protection{memory_protection_values, 0, Symbols::wide};
const Symbols map_flags{map_flags_values, 0xf, Symbols::wide};
const Symbols remap_flags{remap_flags_values, 0, Symbols::wide};
const Symbols msync_flags{msync_flags_values, 0};
const Symbols mlock2_flags{mlock2_flags_values, 0};
const Symbols mlockall_flags{mlockall_flags_values, 0};
const Symbols memory_advice{memory_advice_values, Symbols::choice};
const Symbols memory_policy{memory_policy_values, 0xf};
const Symbols memory_policy_flags{memory_policy_flags_values, 0};
const Symbols bind_policy_flags{bind_policy_flags_values, 0};
const Symbols pkey_rights{pkey_rights_values, 0};
const Symbols clone_bits{clone_bits_values, 0, Symbols::wide};
const Symbols unshare_flags{unshare_flags_values, 0, Symbols::wide};
const Symbols wait_options{wait_options_values, 0};
const Symbols wait_kind{wait_kind_values, Symbols::choice};
const Symbols arch_prctl_option{arch_prctl_option_values, Symbols::choice};
const Symbols prctl_option{prctl_option_values, Symbols::choice};
const Symbols ptrace_request{ptrace_request_values, Symbols::choice};
const Symbols sched_policy{sched_policy_values, 0xff};
const Symbols priority_kind{priority_kind_values, Symbols::choice};
const Symbols ioprio_kind{ioprio_kind_values, Symbols::choice};
const Symbols resource{resource_values, Symbols::choice};
const Symbols usage_of{usage_of_values, Symbols::choice};
const Symbols itimer{itimer_values, Symbols::choice};
const Symbols clock_id{clock_id_values, Symbols::choice};
const Symbols signal_how{signal_how_values, Symbols::choice};
const Symbols signal_name{signal_name_values, Symbols::choice};
const Symbols pidfd_open_flags{pidfd_open_flags_values, 0};
const Symbols pidfd_signal_flags{pidfd_signal_flags_values, 0};
const Symbols futex_command{futex_command_values, Symbols::choice};
const Symbols futex2_flags{futex2_flags_values, 0x3};

}  // namespace overdue
