// Values of the x86 system call interface: files, directories, mounts and descriptors. Numbers, not
// macros: they must not depend on the headers of the machine that builds, and
// arguments_symbols_test.py compares them with its headers.
#include "syscalls/arguments_symbols.h"

namespace overdue {
namespace {

constexpr Symbol access_mode_values[] = {{4, "R_OK"}, {2, "W_OK"}, {1, "X_OK"}, {0, "F_OK"}};
constexpr Symbol at_flags_values[] = {
    {0x100, "AT_SYMLINK_NOFOLLOW"}, {0x400, "AT_SYMLINK_FOLLOW"},    {0x800, "AT_NO_AUTOMOUNT"},
    {0x1000, "AT_EMPTY_PATH"},      {0x2000, "AT_STATX_FORCE_SYNC"}, {0x4000, "AT_STATX_DONT_SYNC"},
    {0x8000, "AT_RECURSIVE"}};
constexpr Symbol at_access_flags_values[] = {
    {0x200, "AT_EACCESS"}, {0x100, "AT_SYMLINK_NOFOLLOW"}, {0x1000, "AT_EMPTY_PATH"}};
constexpr Symbol unlink_flags_values[] = {{0x200, "AT_REMOVEDIR"}};
constexpr Symbol execveat_flags_values[] = {
    {0x100, "AT_SYMLINK_NOFOLLOW"}, {0x1000, "AT_EMPTY_PATH"}, {0x10000, "AT_EXECVE_CHECK"}};
constexpr Symbol handle_flags_values[] = {{0x200, "AT_HANDLE_FID"},
                                          {0x400, "AT_SYMLINK_FOLLOW"},
                                          {0x1000, "AT_EMPTY_PATH"},
                                          {1, "AT_HANDLE_MNT_ID_UNIQUE"},
                                          {2, "AT_HANDLE_CONNECTABLE"}};
constexpr Symbol open_flags_values[] = {
    {0, "O_RDONLY"},          {1, "O_WRONLY"},         {2, "O_RDWR"},
    {0x101000, "O_SYNC"},     {0x410000, "O_TMPFILE"}, {0x40, "O_CREAT"},
    {0x80, "O_EXCL"},         {0x100, "O_NOCTTY"},     {0x200, "O_TRUNC"},
    {0x400, "O_APPEND"},      {0x800, "O_NONBLOCK"},   {0x1000, "O_DSYNC"},
    {0x2000, "FASYNC"},       {0x4000, "O_DIRECT"},    {0x8000, "O_LARGEFILE"},
    {0x10000, "O_DIRECTORY"}, {0x20000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"},
    {0x80000, "O_CLOEXEC"},   {0x200000, "O_PATH"}};
constexpr Symbol descriptor_flags_values[] = {{0x800, "O_NONBLOCK"}, {0x80000, "O_CLOEXEC"}};
constexpr Symbol pipe_flags_values[] = {{0x800, "O_NONBLOCK"},
                                        {0x80000, "O_CLOEXEC"},
                                        {0x4000, "O_DIRECT"},
                                        {0x80, "O_NOTIFICATION_PIPE"}};
constexpr Symbol epoll_create_flags_values[] = {{0x80000, "EPOLL_CLOEXEC"}};
constexpr Symbol eventfd_flags_values[] = {
    {1, "EFD_SEMAPHORE"}, {0x80000, "EFD_CLOEXEC"}, {0x800, "EFD_NONBLOCK"}};
constexpr Symbol signalfd_flags_values[] = {{0x80000, "SFD_CLOEXEC"}, {0x800, "SFD_NONBLOCK"}};
constexpr Symbol timerfd_create_flags_values[] = {{0x80000, "TFD_CLOEXEC"},
                                                  {0x800, "TFD_NONBLOCK"}};
constexpr Symbol timerfd_settime_flags_values[] = {{1, "TFD_TIMER_ABSTIME"},
                                                   {2, "TFD_TIMER_CANCEL_ON_SET"}};
constexpr Symbol timer_flags_values[] = {{1, "TIMER_ABSTIME"}};
constexpr Symbol inotify_flags_values[] = {{0x80000, "IN_CLOEXEC"}, {0x800, "IN_NONBLOCK"}};
constexpr Symbol inotify_mask_values[] = {{0xfff, "IN_ALL_EVENTS"},
                                          {1, "IN_ACCESS"},
                                          {2, "IN_MODIFY"},
                                          {4, "IN_ATTRIB"},
                                          {8, "IN_CLOSE_WRITE"},
                                          {0x10, "IN_CLOSE_NOWRITE"},
                                          {0x20, "IN_OPEN"},
                                          {0x40, "IN_MOVED_FROM"},
                                          {0x80, "IN_MOVED_TO"},
                                          {0x100, "IN_CREATE"},
                                          {0x200, "IN_DELETE"},
                                          {0x400, "IN_DELETE_SELF"},
                                          {0x800, "IN_MOVE_SELF"},
                                          {0x1000000, "IN_ONLYDIR"},
                                          {0x2000000, "IN_DONT_FOLLOW"},
                                          {0x4000000, "IN_EXCL_UNLINK"},
                                          {0x10000000, "IN_MASK_CREATE"},
                                          {0x20000000, "IN_MASK_ADD"},
                                          {0x40000000, "IN_ISDIR"},
                                          {0x80000000, "IN_ONESHOT"}};
constexpr Symbol fanotify_init_flags_values[] = {
    {0, "FAN_CLASS_NOTIF"},        {4, "FAN_CLASS_CONTENT"},
    {8, "FAN_CLASS_PRE_CONTENT"},  {1, "FAN_CLOEXEC"},
    {2, "FAN_NONBLOCK"},           {0x10, "FAN_UNLIMITED_QUEUE"},
    {0x20, "FAN_UNLIMITED_MARKS"}, {0x40, "FAN_ENABLE_AUDIT"},
    {0x80, "FAN_REPORT_PIDFD"},    {0x100, "FAN_REPORT_TID"},
    {0x200, "FAN_REPORT_FID"},     {0x400, "FAN_REPORT_DIR_FID"},
    {0x800, "FAN_REPORT_NAME"},    {0x1000, "FAN_REPORT_TARGET_FID"}};
constexpr Symbol fanotify_mark_flags_values[] = {{1, "FAN_MARK_ADD"},
                                                 {2, "FAN_MARK_REMOVE"},
                                                 {4, "FAN_MARK_DONT_FOLLOW"},
                                                 {8, "FAN_MARK_ONLYDIR"},
                                                 {0x10, "FAN_MARK_MOUNT"},
                                                 {0x20, "FAN_MARK_IGNORED_MASK"},
                                                 {0x40, "FAN_MARK_IGNORED_SURV_MODIFY"},
                                                 {0x80, "FAN_MARK_FLUSH"},
                                                 {0x100, "FAN_MARK_FILESYSTEM"},
                                                 {0x200, "FAN_MARK_EVICTABLE"},
                                                 {0x400, "FAN_MARK_IGNORE"}};
constexpr Symbol fanotify_mask_values[] = {{1, "FAN_ACCESS"},
                                           {2, "FAN_MODIFY"},
                                           {4, "FAN_ATTRIB"},
                                           {8, "FAN_CLOSE_WRITE"},
                                           {0x10, "FAN_CLOSE_NOWRITE"},
                                           {0x20, "FAN_OPEN"},
                                           {0x40, "FAN_MOVED_FROM"},
                                           {0x80, "FAN_MOVED_TO"},
                                           {0x100, "FAN_CREATE"},
                                           {0x200, "FAN_DELETE"},
                                           {0x400, "FAN_DELETE_SELF"},
                                           {0x800, "FAN_MOVE_SELF"},
                                           {0x1000, "FAN_OPEN_EXEC"},
                                           {0x8000, "FAN_FS_ERROR"},
                                           {0x10000, "FAN_OPEN_PERM"},
                                           {0x20000, "FAN_ACCESS_PERM"},
                                           {0x40000, "FAN_OPEN_EXEC_PERM"},
                                           {0x10000000, "FAN_RENAME"},
                                           {0x8000000, "FAN_EVENT_ON_CHILD"},
                                           {0x40000000, "FAN_ONDIR"}};
constexpr Symbol fcntl_command_values[] = {{0, "F_DUPFD"},
                                           {1, "F_GETFD"},
                                           {2, "F_SETFD"},
                                           {3, "F_GETFL"},
                                           {4, "F_SETFL"},
                                           {5, "F_GETLK"},
                                           {6, "F_SETLK"},
                                           {7, "F_SETLKW"},
                                           {8, "F_SETOWN"},
                                           {9, "F_GETOWN"},
                                           {0xa, "F_SETSIG"},
                                           {0xb, "F_GETSIG"},
                                           {0xc, "F_GETLK64"},
                                           {0xd, "F_SETLK64"},
                                           {0xe, "F_SETLKW64"},
                                           {0xf, "F_SETOWN_EX"},
                                           {0x10, "F_GETOWN_EX"},
                                           {0x11, "F_GETOWNER_UIDS"},
                                           {0x24, "F_OFD_GETLK"},
                                           {0x25, "F_OFD_SETLK"},
                                           {0x26, "F_OFD_SETLKW"},
                                           {0x400, "F_SETLEASE"},
                                           {0x401, "F_GETLEASE"},
                                           {0x402, "F_NOTIFY"},
                                           {0x403, "F_DUPFD_QUERY"},
                                           {0x404, "F_CREATED_QUERY"},
                                           {0x405, "F_CANCELLK"},
                                           {0x406, "F_DUPFD_CLOEXEC"},
                                           {0x407, "F_SETPIPE_SZ"},
                                           {0x408, "F_GETPIPE_SZ"},
                                           {0x409, "F_ADD_SEALS"},
                                           {0x40a, "F_GET_SEALS"},
                                           {0x40b, "F_GET_RW_HINT"},
                                           {0x40c, "F_SET_RW_HINT"},
                                           {0x40d, "F_GET_FILE_RW_HINT"},
                                           {0x40e, "F_SET_FILE_RW_HINT"}};
constexpr Symbol fd_flags_values[] = {{1, "FD_CLOEXEC"}};
constexpr Symbol seal_flags_values[] = {
    {1, "F_SEAL_SEAL"},  {2, "F_SEAL_SHRINK"},          {4, "F_SEAL_GROW"},
    {8, "F_SEAL_WRITE"}, {0x10, "F_SEAL_FUTURE_WRITE"}, {0x20, "F_SEAL_EXEC"}};
constexpr Symbol lease_type_values[] = {{0, "F_RDLCK"}, {1, "F_WRLCK"}, {2, "F_UNLCK"}};
constexpr Symbol whence_values[] = {
    {0, "SEEK_SET"}, {1, "SEEK_CUR"}, {2, "SEEK_END"}, {3, "SEEK_DATA"}, {4, "SEEK_HOLE"}};
constexpr Symbol flock_operation_values[] = {
    {1, "LOCK_SH"}, {2, "LOCK_EX"}, {8, "LOCK_UN"}, {4, "LOCK_NB"}};
constexpr Symbol fallocate_mode_values[] = {
    {1, "FALLOC_FL_KEEP_SIZE"},       {2, "FALLOC_FL_PUNCH_HOLE"},
    {4, "FALLOC_FL_NO_HIDE_STALE"},   {8, "FALLOC_FL_COLLAPSE_RANGE"},
    {0x10, "FALLOC_FL_ZERO_RANGE"},   {0x20, "FALLOC_FL_INSERT_RANGE"},
    {0x40, "FALLOC_FL_UNSHARE_RANGE"}};
constexpr Symbol fadvise_advice_values[] = {
    {0, "POSIX_FADV_NORMAL"},   {1, "POSIX_FADV_RANDOM"},   {2, "POSIX_FADV_SEQUENTIAL"},
    {3, "POSIX_FADV_WILLNEED"}, {4, "POSIX_FADV_DONTNEED"}, {5, "POSIX_FADV_NOREUSE"}};
constexpr Symbol sync_range_flags_values[] = {{1, "SYNC_FILE_RANGE_WAIT_BEFORE"},
                                              {2, "SYNC_FILE_RANGE_WRITE"},
                                              {4, "SYNC_FILE_RANGE_WAIT_AFTER"}};
constexpr Symbol splice_flags_values[] = {
    {1, "SPLICE_F_MOVE"}, {2, "SPLICE_F_NONBLOCK"}, {4, "SPLICE_F_MORE"}, {8, "SPLICE_F_GIFT"}};
constexpr Symbol rename_flags_values[] = {
    {1, "RENAME_NOREPLACE"}, {2, "RENAME_EXCHANGE"}, {4, "RENAME_WHITEOUT"}};
constexpr Symbol rw_flags_values[] = {
    {1, "RWF_HIPRI"},     {2, "RWF_DSYNC"},       {4, "RWF_SYNC"},      {8, "RWF_NOWAIT"},
    {0x10, "RWF_APPEND"}, {0x20, "RWF_NOAPPEND"}, {0x40, "RWF_ATOMIC"}, {0x80, "RWF_DONTCACHE"}};
constexpr Symbol statx_mask_values[] = {{0xfff, "STATX_ALL"},
                                        {0x7ff, "STATX_BASIC_STATS"},
                                        {1, "STATX_TYPE"},
                                        {2, "STATX_MODE"},
                                        {4, "STATX_NLINK"},
                                        {8, "STATX_UID"},
                                        {0x10, "STATX_GID"},
                                        {0x20, "STATX_ATIME"},
                                        {0x40, "STATX_MTIME"},
                                        {0x80, "STATX_CTIME"},
                                        {0x100, "STATX_INO"},
                                        {0x200, "STATX_SIZE"},
                                        {0x400, "STATX_BLOCKS"},
                                        {0x800, "STATX_BTIME"},
                                        {0x1000, "STATX_MNT_ID"},
                                        {0x2000, "STATX_DIOALIGN"},
                                        {0x4000, "STATX_MNT_ID_UNIQUE"},
                                        {0x8000, "STATX_SUBVOL"},
                                        {0x10000, "STATX_WRITE_ATOMIC"},
                                        {0x20000, "STATX_DIO_READ_ALIGN"}};
constexpr Symbol xattr_flags_values[] = {{1, "XATTR_CREATE"}, {2, "XATTR_REPLACE"}};
constexpr Symbol mount_flags_values[] = {
    {1, "MS_RDONLY"},           {2, "MS_NOSUID"},           {4, "MS_NODEV"},
    {8, "MS_NOEXEC"},           {0x10, "MS_SYNCHRONOUS"},   {0x20, "MS_REMOUNT"},
    {0x40, "MS_MANDLOCK"},      {0x80, "MS_DIRSYNC"},       {0x100, "MS_NOSYMFOLLOW"},
    {0x400, "MS_NOATIME"},      {0x800, "MS_NODIRATIME"},   {0x1000, "MS_BIND"},
    {0x2000, "MS_MOVE"},        {0x4000, "MS_REC"},         {0x8000, "MS_SILENT"},
    {0x10000, "MS_POSIXACL"},   {0x20000, "MS_UNBINDABLE"}, {0x40000, "MS_PRIVATE"},
    {0x80000, "MS_SLAVE"},      {0x100000, "MS_SHARED"},    {0x200000, "MS_RELATIME"},
    {0x400000, "MS_KERNMOUNT"}, {0x800000, "MS_I_VERSION"}, {0x1000000, "MS_STRICTATIME"},
    {0x2000000, "MS_LAZYTIME"}};
constexpr Symbol umount_flags_values[] = {
    {1, "MNT_FORCE"}, {2, "MNT_DETACH"}, {4, "MNT_EXPIRE"}, {8, "UMOUNT_NOFOLLOW"}};
constexpr Symbol open_tree_flags_values[] = {
    {1, "OPEN_TREE_CLONE"},    {0x80000, "OPEN_TREE_CLOEXEC"}, {0x8000, "AT_RECURSIVE"},
    {0x1000, "AT_EMPTY_PATH"}, {0x800, "AT_NO_AUTOMOUNT"},     {0x100, "AT_SYMLINK_NOFOLLOW"}};
constexpr Symbol move_mount_flags_values[] = {
    {1, "MOVE_MOUNT_F_SYMLINKS"},      {2, "MOVE_MOUNT_F_AUTOMOUNTS"},
    {4, "MOVE_MOUNT_F_EMPTY_PATH"},    {0x10, "MOVE_MOUNT_T_SYMLINKS"},
    {0x20, "MOVE_MOUNT_T_AUTOMOUNTS"}, {0x40, "MOVE_MOUNT_T_EMPTY_PATH"},
    {0x100, "MOVE_MOUNT_SET_GROUP"},   {0x200, "MOVE_MOUNT_BENEATH"}};
constexpr Symbol fsopen_flags_values[] = {{1, "FSOPEN_CLOEXEC"}};
constexpr Symbol fsmount_flags_values[] = {{1, "FSMOUNT_CLOEXEC"}};
constexpr Symbol fspick_flags_values[] = {{1, "FSPICK_CLOEXEC"},
                                          {2, "FSPICK_SYMLINK_NOFOLLOW"},
                                          {4, "FSPICK_NO_AUTOMOUNT"},
                                          {8, "FSPICK_EMPTY_PATH"}};
constexpr Symbol fsconfig_command_values[] = {
    {0, "FSCONFIG_SET_FLAG"},   {1, "FSCONFIG_SET_STRING"},      {2, "FSCONFIG_SET_BINARY"},
    {3, "FSCONFIG_SET_PATH"},   {4, "FSCONFIG_SET_PATH_EMPTY"},  {5, "FSCONFIG_SET_FD"},
    {6, "FSCONFIG_CMD_CREATE"}, {7, "FSCONFIG_CMD_RECONFIGURE"}, {8, "FSCONFIG_CMD_CREATE_EXCL"}};
constexpr Symbol mount_attributes_values[] = {{1, "MOUNT_ATTR_RDONLY"},
                                              {2, "MOUNT_ATTR_NOSUID"},
                                              {4, "MOUNT_ATTR_NODEV"},
                                              {8, "MOUNT_ATTR_NOEXEC"},
                                              {0x10, "MOUNT_ATTR_NOATIME"},
                                              {0x20, "MOUNT_ATTR_STRICTATIME"},
                                              {0x80, "MOUNT_ATTR_NODIRATIME"},
                                              {0x100000, "MOUNT_ATTR_IDMAP"},
                                              {0x200000, "MOUNT_ATTR_NOSYMFOLLOW"}};
constexpr Symbol close_range_flags_values[] = {{2, "CLOSE_RANGE_UNSHARE"},
                                               {4, "CLOSE_RANGE_CLOEXEC"}};
constexpr Symbol memfd_flags_values[] = {{1, "MFD_CLOEXEC"},
                                         {2, "MFD_ALLOW_SEALING"},
                                         {4, "MFD_HUGETLB"},
                                         {8, "MFD_NOEXEC_SEAL"},
                                         {0x10, "MFD_EXEC"}};

}  // namespace

const Symbols access_mode{access_mode_values, 0};
const Symbols at_flags{at_flags_values, 0};
const Symbols at_access_flags{at_access_flags_values, 0};
const Symbols unlink_flags{unlink_flags_values, 0};
const Symbols execveat_flags{execveat_flags_values, 0};
const Symbols handle_flags{handle_flags_values, 0};
const Symbols open_flags{open_flags_values, 0x3};
const Symbols descriptor_flags{descriptor_flags_values, 0};
const Symbols pipe_flags{pipe_flags_values, 0};
const Symbols epoll_create_flags{epoll_create_flags_values, 0};
const Symbols eventfd_flags{eventfd_flags_values, 0};
const Symbols signalfd_flags{signalfd_flags_values, 0};
const Symbols timerfd_create_flags{timerfd_create_flags_values, 0};
const Symbols timerfd_settime_flags{timerfd_settime_flags_values, 0};
const Symbols timer_flags{timer_flags_values, 0};
const Symbols inotify_flags{inotify_flags_values, 0};
const Symbols inotify_mask{inotify_mask_values, 0};
const Symbols fanotify_init_flags{fanotify_init_flags_values, 0xc};
const Symbols fanotify_mark_flags{fanotify_mark_flags_values, 0};
const Symbols fanotify_mask{fanotify_mask_values, 0, Symbols::wide};
const Symbols fcntl_command{fcntl_command_values, Symbols::choice};
const Symbols fd_flags{fd_flags_values, 0};
const Symbols seal_flags{seal_flags_values, 0};
const Symbols lease_type{lease_type_values, Symbols::choice};
const Symbols whence{whence_values, Symbols::choice};
const Symbols flock_operation{flock_operation_values, 0};
const Symbols fallocate_mode{fallocate_mode_values, 0};
const Symbols fadvise_advice{fadvise_advice_values, Symbols::choice};
const Symbols sync_range_flags{sync_range_flags_values, 0};
const Symbols splice_flags{splice_flags_values, 0};
const Symbols rename_flags{rename_flags_values, 0};
const Symbols rw_flags{rw_flags_values, 0};
const Symbols statx_mask{statx_mask_values, 0};
const Symbols xattr_flags{xattr_flags_values, 0};
const Symbols mount_flags{mount_flags_values, 0, Symbols::wide};
const Symbols umount_flags{umount_flags_values, 0};
const Symbols open_tree_flags{open_tree_flags_values, 0};
const Symbols move_mount_flags{move_mount_flags_values, 0};
const Symbols fsopen_flags{fsopen_flags_values, 0};
const Symbols fsmount_flags{fsmount_flags_values, 0};
const Symbols fspick_flags{fspick_flags_values, 0};
const Symbols fsconfig_command{fsconfig_command_values, Symbols::choice};
const Symbols mount_attributes{mount_attributes_values, 0};
const Symbols close_range_flags{close_range_flags_values, 0};
const Symbols memfd_flags{memfd_flags_values, 0};

}  // namespace overdue
