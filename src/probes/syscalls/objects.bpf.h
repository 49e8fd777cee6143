/* SPDX-License-Identifier: GPL-2.0 */
/* The object behind the descriptor that a late call was given: the path of a file, the two ends of
 * a socket, and which end asked for the connection. Read when the call is reported, so that quick
 * calls pay nothing. */
#pragma once

#include "bpf/call_object.h"
#include "bpf/resends.bpf.h"
#include "bpf/tcp_side.bpf.h"
#include "probes/syscalls/calls.bpf.h"

#define PATH_STEPS_MAX 32

/* include/uapi/linux/stat.h, include/linux/socket.h, include/uapi/linux/in.h,
 * include/net/sock.h, include/net/tcp_states.h */
#define S_IFMT 00170000
#define S_IFSOCK 0140000
#define S_IFIFO 0010000
#define S_IFREG 0100000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFBLK 0060000
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define SOCK_BINDPORT_LOCK 8 /* a program chose the port */
#define TCP_SYN_SENT 2
#define TCP_LISTEN 10

/* By native call: index of the descriptor's argument, plus one, and perhaps CALL_OBJECT_IN_POLL;
 * 0: the call has no descriptor. */
const volatile u8 object_arguments[SYSCALL_TABLE_SIZE];
const volatile u64 tick_ns; /* length of a jiffy; 0: unknown */

struct poll_entry {
  int fd;
  u32 events;
};

static __always_inline u8 object_argument(const struct thread_state* state) {
  u32 nr = state->nr;
  if (state->abi != ABI_NATIVE || nr >= SYSCALL_TABLE_SIZE) return 0;
  return object_arguments[nr & (SYSCALL_TABLE_SIZE - 1)];
}

/* Where the poll_entry is in the memory of the call's process, if the call is a poll with only one;
 * else 0. */
static __always_inline const void* only_poll_entry(const struct thread_state* state) {
  u32 which = object_argument(state);
  u32 index = (which & ~CALL_OBJECT_IN_POLL) - 1;
  if (!(which & CALL_OBJECT_IN_POLL) || index >= SYSCALL_ARGUMENTS) return 0;
  return state->arguments[1] == 1 ? (const void*)state->arguments[index] : 0;
}

static __always_inline struct file* file_of(struct task_struct* task, u32 fd) {
  struct fdtable* table = BPF_CORE_READ(task, files, fdt);
  struct file *file = 0, **files;
  if (!table || fd >= BPF_CORE_READ(table, max_fds)) return 0;
  files = BPF_CORE_READ(table, fd);
  bpf_probe_read_kernel(&file, sizeof(file), files + fd);
  return file;
}

static __always_inline struct mount* mount_of(struct vfsmount* at) {
  return (struct mount*)((void*)at - bpf_core_field_offset(struct mount, mnt));
}

/* A place on the way from a file to the root of its process. */
struct path_place {
  struct dentry* dentry;
  struct mount* mount;
  struct dentry* root;
  struct mount* root_mount;
};

enum path_step { PATH_GOES_ON, PATH_ENDS, PATH_IS_WHOLE };

/* Adds the name at `at` to the path, and goes one directory or mount up. Not static: the verifier
 * checks a step once, not each step. */
__noinline int add_to_path(struct call_object* object, struct path_place* at) {
  if (!object || !at) return PATH_ENDS;
  struct dentry* dentry = at->dentry;
  struct mount* mount = at->mount;
  if (dentry == at->root && mount == at->root_mount) return PATH_IS_WHOLE;
  struct dentry* parent = BPF_CORE_READ(dentry, d_parent);
  if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || parent == dentry) {
    struct mount* below = BPF_CORE_READ(mount, mnt_parent);
    if (below == mount) return PATH_IS_WHOLE; /* of another namespace, or none */
    at->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
    at->mount = below;
    return PATH_GOES_ON;
  }
  u64 used = object->path_size;
  barrier_var(used); /* the value compared is the value used */
  if (used > CALL_OBJECT_PATH - CALL_OBJECT_PART) return PATH_ENDS;
  long size = bpf_probe_read_kernel_str(object->path + used, CALL_OBJECT_PART,
                                        BPF_CORE_READ(dentry, d_name.name));
  if (size <= 0) return PATH_ENDS;
  object->path_size = used + size;
  at->dentry = parent;
  return PATH_GOES_ON;
}

/* Walks from the file up to the root of its process, across mounts. */
static __noinline int copy_path(struct call_object* object, struct task_struct* task,
                                struct file* file) {
  if (!object || !task || !file) return 0;
  struct dentry* dentry = BPF_CORE_READ(file, f_path.dentry);
  struct path_place at = {.dentry = dentry,
                          .mount = mount_of(BPF_CORE_READ(file, f_path.mnt)),
                          .root = BPF_CORE_READ(task, fs, root.dentry),
                          .root_mount = mount_of(BPF_CORE_READ(task, fs, root.mnt))};
  if (BPF_CORE_READ(dentry, d_parent) != dentry && !BPF_CORE_READ(dentry, d_hash.pprev))
    object->flags |= OBJECT_DELETED;
  int step = PATH_GOES_ON;
  for (u32 i = 0; i < PATH_STEPS_MAX && step == PATH_GOES_ON; i++) step = add_to_path(object, &at);
  if (step != PATH_IS_WHOLE) object->flags |= OBJECT_PATH_CUT;
  return 0;
}

static __always_inline void describe_internet(struct call_object* object, struct sock* sock) {
  object->protocol = BPF_CORE_READ(sock, sk_protocol);
  object->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
  object->remote_port = __builtin_bswap16(BPF_CORE_READ(sock, __sk_common.skc_dport));
  if (object->family == AF_INET6) {
    bpf_probe_read_kernel(object->local, 16, &sock->__sk_common.skc_v6_rcv_saddr);
    bpf_probe_read_kernel(object->remote, 16, &sock->__sk_common.skc_v6_daddr);
  } else {
    bpf_probe_read_kernel(object->local, 4, &sock->__sk_common.skc_rcv_saddr);
    bpf_probe_read_kernel(object->remote, 4, &sock->__sk_common.skc_daddr);
  }
  if (object->protocol == IPPROTO_UDP && object->local_port)
    object->flags |= BPF_CORE_READ_BITFIELD_PROBED(sock, sk_userlocks) & SOCK_BINDPORT_LOCK
                         ? OBJECT_IS_SERVER
                         : OBJECT_IS_CLIENT;
  if (object->protocol != IPPROTO_TCP) return;
  if (BPF_CORE_READ(sock, __sk_common.skc_state) == TCP_LISTEN) {
    object->flags |= OBJECT_IS_LISTENER;
    return;
  }
  enum tcp_side side = tcp_side_of(sock);
  if (side) object->flags |= side == TCP_CLIENT ? OBJECT_IS_CLIENT : OBJECT_IS_SERVER;
  u32 sent = BPF_CORE_READ((struct tcp_sock*)sock, lsndtime);
  if (!tick_ns || !sent) return;
  u32 now = (u32)bpf_jiffies64();
  u32 received = BPF_CORE_READ((struct inet_connection_sock*)sock, icsk_ack.lrcvtime);
  object->written_ns = (u64)(now - sent) * tick_ns;
  object->received_ns = (u64)(now - received) * tick_ns;
  object->flags |= OBJECT_HAS_WRITTEN;
  u64 now_ns = bpf_ktime_get_ns();
  const struct resends* again = resends_of(sock, now_ns - object->written_ns, tick_ns);
  if (!again) return;
  object->written_ns = ns_between(again->sent_ns, now_ns); /* not the last try */
  object->resent_ns = ns_between(again->sent_ns, again->last_ns);
  object->resends = again->count < 255 ? again->count : 255;
}

/* Of two connected sockets, the accepted one has the listener's name, and the other one mostly
 * none. A pair has no names. */
static __always_inline void describe_unix(struct call_object* object, struct sock* sock) {
  struct unix_address* own = BPF_CORE_READ((struct unix_sock*)sock, addr);
  struct sock* peer = BPF_CORE_READ((struct unix_sock*)sock, peer);
  struct unix_address* of_peer = peer ? BPF_CORE_READ((struct unix_sock*)peer, addr) : 0;
  struct unix_address* name = own ? own : of_peer;
  if (BPF_CORE_READ(sock, __sk_common.skc_state) == TCP_LISTEN)
    object->flags |= OBJECT_IS_LISTENER;
  else if (own)
    object->flags |= OBJECT_IS_SERVER;
  else if (of_peer)
    object->flags |= OBJECT_IS_CLIENT;
  if (!name) return;
  u64 size = BPF_CORE_READ(name, len);
  if (size <= 2) return;
  size -= 2;
  if (size > sizeof(((struct sockaddr_un*)0)->sun_path)) return;
  if (bpf_probe_read_kernel(object->path, size, name->name[0].sun_path)) return;
  object->path_size = size;
}

static __noinline int describe_socket(struct call_object* object, struct file* file) {
  if (!object || !file) return 0;
  struct socket* socket = BPF_CORE_READ(file, private_data);
  struct sock* sock = socket ? BPF_CORE_READ(socket, sk) : 0;
  if (!sock) return 0;
  object->family = BPF_CORE_READ(sock, __sk_common.skc_family);
  object->socket_type = BPF_CORE_READ(sock, sk_type);
  if (object->family == AF_INET || object->family == AF_INET6) {
    object->object = OBJECT_SOCKET;
    describe_internet(object, sock);
  } else if (object->family == AF_UNIX) {
    object->object = OBJECT_UNIX;
    describe_unix(object, sock);
  }
  return 0;
}

/* Fills all but the header. `polled`: the descriptor in only_poll_entry(), or -1. False if the call
 * has no descriptor, or none that is known. */
static __always_inline bool describe_object(struct call_object* object, struct task_struct* task,
                                            const struct thread_state* state, int polled) {
  u8 which = object_argument(state);
  u32 index = (which & ~CALL_OBJECT_IN_POLL) - 1;
  if (!which || index >= SYSCALL_ARGUMENTS) return false;
  __builtin_memset(object, 0, sizeof(*object));
  object->fd = which & CALL_OBJECT_IN_POLL ? (u32)polled : (u32)state->arguments[index];
  if ((int)object->fd < 0) return false;
  struct file* file = file_of(task, object->fd);
  if (!file) return false;
  object->argument = (which & CALL_OBJECT_IN_POLL) | ((which & ~CALL_OBJECT_IN_POLL) - 1);
  object->inode = BPF_CORE_READ(file, f_inode, i_ino);
  switch (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) {
    case S_IFSOCK:
      describe_socket(object, file);
      break;
    case S_IFIFO:
      object->object = OBJECT_PIPE;
      copy_path(object, task, file); /* of a named pipe */
      break;
    case S_IFREG:
    case S_IFDIR:
    case S_IFCHR:
    case S_IFBLK:
      object->object = OBJECT_FILE;
      copy_path(object, task, file);
      break;
    default:
      object->object = OBJECT_INTERNAL;
      copy_path(object, task, file);
  }
  return true;
}

SEC("?tp_btf/tcp_retransmit_skb")
int UNPREEMPTED_PROG(on_resend, const struct sock* sock) {
  if (BPF_CORE_READ(sock, __sk_common.skc_state) != TCP_SYN_SENT) note_resend(sock);
  return 0;
}
