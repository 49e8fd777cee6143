// Values of the x86 system call interface: devices, System V IPC, BPF and other kernel services.
// Numbers, not macros: they must not depend on the headers of the machine that builds, and
// arguments_symbols_test.py compares them with its headers.
#include "syscalls/arguments_symbols.h"

namespace overdue {
namespace {

constexpr Symbol ioctl_request_values[] = {{0x5401, "TCGETS"},
                                           {0x5402, "TCSETS"},
                                           {0x5403, "TCSETSW"},
                                           {0x5404, "TCSETSF"},
                                           {0x5409, "TCSBRK"},
                                           {0x540a, "TCXONC"},
                                           {0x540b, "TCFLSH"},
                                           {0x540c, "TIOCEXCL"},
                                           {0x540d, "TIOCNXCL"},
                                           {0x540e, "TIOCSCTTY"},
                                           {0x540f, "TIOCGPGRP"},
                                           {0x5410, "TIOCSPGRP"},
                                           {0x5411, "TIOCOUTQ"},
                                           {0x5412, "TIOCSTI"},
                                           {0x5413, "TIOCGWINSZ"},
                                           {0x5414, "TIOCSWINSZ"},
                                           {0x5415, "TIOCMGET"},
                                           {0x541b, "FIONREAD"},
                                           {0x5421, "FIONBIO"},
                                           {0x5422, "TIOCNOTTY"},
                                           {0x5429, "TIOCGSID"},
                                           {0x802c542a, "TCGETS2"},
                                           {0x402c542b, "TCSETS2"},
                                           {0x402c542c, "TCSETSW2"},
                                           {0x80045430, "TIOCGPTN"},
                                           {0x40045431, "TIOCSPTLCK"},
                                           {0x5441, "TIOCGPTPEER"},
                                           {0x80045439, "TIOCGPTLCK"},
                                           {0x5450, "FIONCLEX"},
                                           {0x5451, "FIOCLEX"},
                                           {0x5452, "FIOASYNC"},
                                           {0x5460, "FIOQSIZE"},
                                           {2, "FIGETBSZ"},
                                           {1, "FIBMAP"},
                                           {0x40049409, "FICLONE"},
                                           {0x4020940d, "FICLONERANGE"},
                                           {0xc0189436, "FIDEDUPERANGE"},
                                           {0xc0045877, "FIFREEZE"},
                                           {0xc0045878, "FITHAW"},
                                           {0xc0185879, "FITRIM"},
                                           {0x80086601, "FS_IOC_GETFLAGS"},
                                           {0x40086602, "FS_IOC_SETFLAGS"},
                                           {0x801c581f, "FS_IOC_FSGETXATTR"},
                                           {0x401c5820, "FS_IOC_FSSETXATTR"},
                                           {0xc020660b, "FS_IOC_FIEMAP"},
                                           {0x8910, "SIOCGIFNAME"},
                                           {0x8912, "SIOCGIFCONF"},
                                           {0x8913, "SIOCGIFFLAGS"},
                                           {0x8914, "SIOCSIFFLAGS"},
                                           {0x8915, "SIOCGIFADDR"},
                                           {0x891b, "SIOCGIFNETMASK"},
                                           {0x8921, "SIOCGIFMTU"},
                                           {0x8927, "SIOCGIFHWADDR"},
                                           {0x8933, "SIOCGIFINDEX"},
                                           {0x8946, "SIOCETHTOOL"},
                                           {0x8905, "SIOCATMARK"},
                                           {0x894b, "SIOCOUTQNSD"},
                                           {0x80081272, "BLKGETSIZE64"},
                                           {0x1268, "BLKSSZGET"},
                                           {0x127b, "BLKPBSZGET"},
                                           {0x125e, "BLKROGET"},
                                           {0x1261, "BLKFLSBUF"},
                                           {0x1277, "BLKDISCARD"},
                                           {0x125f, "BLKRRPART"},
                                           {0x2400, "PERF_EVENT_IOC_ENABLE"},
                                           {0x2401, "PERF_EVENT_IOC_DISABLE"},
                                           {0x2402, "PERF_EVENT_IOC_REFRESH"},
                                           {0x2403, "PERF_EVENT_IOC_RESET"},
                                           {0x2405, "PERF_EVENT_IOC_SET_OUTPUT"},
                                           {0x40082406, "PERF_EVENT_IOC_SET_FILTER"},
                                           {0x80082407, "PERF_EVENT_IOC_ID"},
                                           {0x40042408, "PERF_EVENT_IOC_SET_BPF"},
                                           {0xc018aa3f, "UFFDIO_API"},
                                           {0xc020aa00, "UFFDIO_REGISTER"},
                                           {0xc028aa03, "UFFDIO_COPY"},
                                           {0xc020aa04, "UFFDIO_ZEROPAGE"},
                                           {0x80045200, "RNDGETENTCNT"},
                                           {0x4c00, "LOOP_SET_FD"},
                                           {0x4c01, "LOOP_CLR_FD"},
                                           {0x4c82, "LOOP_CTL_GET_FREE"},
                                           {0x4c0a, "LOOP_CONFIGURE"},
                                           {0x400454ca, "TUNSETIFF"},
                                           {0xae80, "KVM_RUN"},
                                           {0xae00, "KVM_GET_API_VERSION"},
                                           {0xae01, "KVM_CREATE_VM"},
                                           {0xae41, "KVM_CREATE_VCPU"},
                                           {0xb702, "NS_GET_PARENT"},
                                           {0xb701, "NS_GET_USERNS"},
                                           {0xb703, "NS_GET_NSTYPE"}};
constexpr Symbol random_flags_values[] = {
    {1, "GRND_NONBLOCK"}, {2, "GRND_RANDOM"}, {4, "GRND_INSECURE"}};
constexpr Symbol ipc_flags_values[] = {
    {0x200, "IPC_CREAT"}, {0x400, "IPC_EXCL"}, {0x800, "IPC_NOWAIT"}};
constexpr Symbol ipc_command_values[] = {
    {0, "IPC_RMID"},   {1, "IPC_SET"},    {2, "IPC_STAT"},
    {3, "IPC_INFO"},   {0xb, "SHM_LOCK"}, {0xc, "SHM_UNLOCK"},
    {0xd, "SHM_STAT"}, {0xe, "SHM_INFO"}, {0xf, "SHM_STAT_ANY"}};
constexpr Symbol semaphore_command_values[] = {
    {0, "IPC_RMID"},    {1, "IPC_SET"},        {2, "IPC_STAT"},  {3, "IPC_INFO"},
    {0xb, "GETPID"},    {0xc, "GETVAL"},       {0xd, "GETALL"},  {0xe, "GETNCNT"},
    {0xf, "GETZCNT"},   {0x10, "SETVAL"},      {0x11, "SETALL"}, {0x12, "SEM_STAT"},
    {0x13, "SEM_INFO"}, {0x14, "SEM_STAT_ANY"}};
constexpr Symbol message_queue_command_values[] = {
    {0, "IPC_RMID"},   {1, "IPC_SET"},    {2, "IPC_STAT"},      {3, "IPC_INFO"},
    {0xb, "MSG_STAT"}, {0xc, "MSG_INFO"}, {0xd, "MSG_STAT_ANY"}};
constexpr Symbol shm_flags_values[] = {
    {0x1000, "SHM_RDONLY"}, {0x2000, "SHM_RND"}, {0x4000, "SHM_REMAP"}, {0x8000, "SHM_EXEC"}};
constexpr Symbol msg_receive_flags_values[] = {
    {0x800, "IPC_NOWAIT"}, {0x1000, "MSG_NOERROR"}, {0x2000, "MSG_EXCEPT"}, {0x4000, "MSG_COPY"}};
constexpr Symbol bpf_command_values[] = {{0, "BPF_MAP_CREATE"},
                                         {1, "BPF_MAP_LOOKUP_ELEM"},
                                         {2, "BPF_MAP_UPDATE_ELEM"},
                                         {3, "BPF_MAP_DELETE_ELEM"},
                                         {4, "BPF_MAP_GET_NEXT_KEY"},
                                         {5, "BPF_PROG_LOAD"},
                                         {6, "BPF_OBJ_PIN"},
                                         {7, "BPF_OBJ_GET"},
                                         {8, "BPF_PROG_ATTACH"},
                                         {9, "BPF_PROG_DETACH"},
                                         {0xa, "BPF_PROG_TEST_RUN"},
                                         {0xb, "BPF_PROG_GET_NEXT_ID"},
                                         {0xc, "BPF_MAP_GET_NEXT_ID"},
                                         {0xd, "BPF_PROG_GET_FD_BY_ID"},
                                         {0xe, "BPF_MAP_GET_FD_BY_ID"},
                                         {0xf, "BPF_OBJ_GET_INFO_BY_FD"},
                                         {0x10, "BPF_PROG_QUERY"},
                                         {0x11, "BPF_RAW_TRACEPOINT_OPEN"},
                                         {0x12, "BPF_BTF_LOAD"},
                                         {0x13, "BPF_BTF_GET_FD_BY_ID"},
                                         {0x14, "BPF_TASK_FD_QUERY"},
                                         {0x15, "BPF_MAP_LOOKUP_AND_DELETE_ELEM"},
                                         {0x16, "BPF_MAP_FREEZE"},
                                         {0x17, "BPF_BTF_GET_NEXT_ID"},
                                         {0x18, "BPF_MAP_LOOKUP_BATCH"},
                                         {0x19, "BPF_MAP_LOOKUP_AND_DELETE_BATCH"},
                                         {0x1a, "BPF_MAP_UPDATE_BATCH"},
                                         {0x1b, "BPF_MAP_DELETE_BATCH"},
                                         {0x1c, "BPF_LINK_CREATE"},
                                         {0x1d, "BPF_LINK_UPDATE"},
                                         {0x1e, "BPF_LINK_GET_FD_BY_ID"},
                                         {0x1f, "BPF_LINK_GET_NEXT_ID"},
                                         {0x20, "BPF_ENABLE_STATS"},
                                         {0x21, "BPF_ITER_CREATE"},
                                         {0x22, "BPF_LINK_DETACH"},
                                         {0x23, "BPF_PROG_BIND_MAP"},
                                         {0x24, "BPF_TOKEN_CREATE"},
                                         {0x25, "BPF_PROG_STREAM_READ_BY_FD"},
                                         {0x26, "BPF_PROG_ASSOC_STRUCT_OPS"},
                                         {0x10000, "BPF_COMMON_ATTRS"}};
constexpr Symbol perf_flags_values[] = {{1, "PERF_FLAG_FD_NO_GROUP"},
                                        {2, "PERF_FLAG_FD_OUTPUT"},
                                        {4, "PERF_FLAG_PID_CGROUP"},
                                        {8, "PERF_FLAG_FD_CLOEXEC"}};
constexpr Symbol seccomp_operation_values[] = {{0, "SECCOMP_SET_MODE_STRICT"},
                                               {1, "SECCOMP_SET_MODE_FILTER"},
                                               {2, "SECCOMP_GET_ACTION_AVAIL"},
                                               {3, "SECCOMP_GET_NOTIF_SIZES"}};
constexpr Symbol seccomp_flags_values[] = {
    {1, "SECCOMP_FILTER_FLAG_TSYNC"},          {2, "SECCOMP_FILTER_FLAG_LOG"},
    {4, "SECCOMP_FILTER_FLAG_SPEC_ALLOW"},     {8, "SECCOMP_FILTER_FLAG_NEW_LISTENER"},
    {0x10, "SECCOMP_FILTER_FLAG_TSYNC_ESRCH"}, {0x20, "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"}};
constexpr Symbol userfaultfd_flags_values[] = {
    {0x800, "O_NONBLOCK"}, {0x80000, "O_CLOEXEC"}, {1, "UFFD_USER_MODE_ONLY"}};
constexpr Symbol membarrier_command_values[] = {
    {0, "MEMBARRIER_CMD_QUERY"},
    {1, "MEMBARRIER_CMD_GLOBAL"},
    {2, "MEMBARRIER_CMD_GLOBAL_EXPEDITED"},
    {4, "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED"},
    {8, "MEMBARRIER_CMD_PRIVATE_EXPEDITED"},
    {0x10, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED"},
    {0x20, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE"},
    {0x40, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE"},
    {0x80, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ"},
    {0x100, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ"},
    {0x200, "MEMBARRIER_CMD_GET_REGISTRATIONS"}};
constexpr Symbol uring_enter_flags_values[] = {{1, "IORING_ENTER_GETEVENTS"},
                                               {2, "IORING_ENTER_SQ_WAKEUP"},
                                               {4, "IORING_ENTER_SQ_WAIT"},
                                               {8, "IORING_ENTER_EXT_ARG"},
                                               {0x10, "IORING_ENTER_REGISTERED_RING"}};
constexpr Symbol swap_flags_values[] = {{0x8000, "SWAP_FLAG_PREFER"},
                                        {0x10000, "SWAP_FLAG_DISCARD"},
                                        {0x20000, "SWAP_FLAG_DISCARD_ONCE"},
                                        {0x40000, "SWAP_FLAG_DISCARD_PAGES"}};
constexpr Symbol module_flags_values[] = {{1, "MODULE_INIT_IGNORE_MODVERSIONS"},
                                          {2, "MODULE_INIT_IGNORE_VERMAGIC"},
                                          {4, "MODULE_INIT_COMPRESSED_FILE"}};
constexpr Symbol kexec_file_flags_values[] = {
    {1, "KEXEC_FILE_UNLOAD"}, {2, "KEXEC_FILE_ON_CRASH"}, {4, "KEXEC_FILE_NO_INITRAMFS"}};
constexpr Symbol landlock_rule_values[] = {{1, "LANDLOCK_RULE_PATH_BENEATH"},
                                           {2, "LANDLOCK_RULE_NET_PORT"}};
constexpr Symbol kcmp_type_values[] = {{0, "KCMP_FILE"},    {1, "KCMP_VM"},       {2, "KCMP_FILES"},
                                       {3, "KCMP_FS"},      {4, "KCMP_SIGHAND"},  {5, "KCMP_IO"},
                                       {6, "KCMP_SYSVSEM"}, {7, "KCMP_EPOLL_TFD"}};
constexpr Symbol keyctl_operation_values[] = {{0, "KEYCTL_GET_KEYRING_ID"},
                                              {1, "KEYCTL_JOIN_SESSION_KEYRING"},
                                              {2, "KEYCTL_UPDATE"},
                                              {3, "KEYCTL_REVOKE"},
                                              {4, "KEYCTL_CHOWN"},
                                              {5, "KEYCTL_SETPERM"},
                                              {6, "KEYCTL_DESCRIBE"},
                                              {7, "KEYCTL_CLEAR"},
                                              {8, "KEYCTL_LINK"},
                                              {9, "KEYCTL_UNLINK"},
                                              {0xa, "KEYCTL_SEARCH"},
                                              {0xb, "KEYCTL_READ"},
                                              {0xc, "KEYCTL_INSTANTIATE"},
                                              {0xd, "KEYCTL_NEGATE"},
                                              {0xe, "KEYCTL_SET_REQKEY_KEYRING"},
                                              {0xf, "KEYCTL_SET_TIMEOUT"},
                                              {0x10, "KEYCTL_ASSUME_AUTHORITY"},
                                              {0x11, "KEYCTL_GET_SECURITY"},
                                              {0x12, "KEYCTL_SESSION_TO_PARENT"},
                                              {0x13, "KEYCTL_REJECT"},
                                              {0x14, "KEYCTL_INSTANTIATE_IOV"},
                                              {0x15, "KEYCTL_INVALIDATE"},
                                              {0x16, "KEYCTL_GET_PERSISTENT"},
                                              {0x17, "KEYCTL_DH_COMPUTE"},
                                              {0x18, "KEYCTL_PKEY_QUERY"},
                                              {0x19, "KEYCTL_PKEY_ENCRYPT"},
                                              {0x1a, "KEYCTL_PKEY_DECRYPT"},
                                              {0x1b, "KEYCTL_PKEY_SIGN"},
                                              {0x1c, "KEYCTL_PKEY_VERIFY"},
                                              {0x1d, "KEYCTL_RESTRICT_KEYRING"},
                                              {0x1e, "KEYCTL_MOVE"},
                                              {0x1f, "KEYCTL_CAPABILITIES"},
                                              {0x20, "KEYCTL_WATCH_KEY"}};
constexpr Symbol rseq_flags_values[] = {{1, "RSEQ_FLAG_UNREGISTER"}};

}  // namespace

const Symbols ioctl_request{ioctl_request_values, Symbols::choice};
const Symbols random_flags{random_flags_values, 0};
const Symbols ipc_flags{ipc_flags_values, 0};
const Symbols ipc_command{ipc_command_values, Symbols::choice};
const Symbols semaphore_command{semaphore_command_values, Symbols::choice};
const Symbols message_queue_command{message_queue_command_values, Symbols::choice};
const Symbols shm_flags{shm_flags_values, 0};
const Symbols msg_receive_flags{msg_receive_flags_values, 0};
const Symbols bpf_command{bpf_command_values, 0xffff};
const Symbols perf_flags{perf_flags_values, 0};
const Symbols seccomp_operation{seccomp_operation_values, Symbols::choice};
const Symbols seccomp_flags{seccomp_flags_values, 0};
const Symbols userfaultfd_flags{userfaultfd_flags_values, 0};
const Symbols membarrier_command{membarrier_command_values, Symbols::choice};
const Symbols uring_enter_flags{uring_enter_flags_values, 0};
const Symbols swap_flags{swap_flags_values, 0};
const Symbols module_flags{module_flags_values, 0};
const Symbols kexec_file_flags{kexec_file_flags_values, 0};
const Symbols landlock_rule{landlock_rule_values, Symbols::choice};
const Symbols kcmp_type{kcmp_type_values, Symbols::choice};
const Symbols keyctl_operation{keyctl_operation_values, Symbols::choice};
const Symbols rseq_flags{rseq_flags_values, 0};

}  // namespace overdue
