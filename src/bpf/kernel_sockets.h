/* SPDX-License-Identifier: GPL-2.0 */
/* The part of bpf/kernel.h about sockets: of the internet and of the unix domain. */
#pragma once

#include "bpf/kernel_files.h"
#include "bpf/wire.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
  u8 u6_addr8[16]; /* inside a union in the kernel: copied as a whole */
};

struct hlist_nulls_node {
  struct hlist_nulls_node* next;
};

struct hlist_nulls_head {
  struct hlist_nulls_node* first;
};

struct inet_listen_hashbucket {
  struct hlist_nulls_head nulls_head;
};

struct inet_hashinfo {
  struct inet_listen_hashbucket* lhash2;
  unsigned int lhash2_mask;
};

struct inet_timewait_death_row {
  struct inet_hashinfo* hashinfo;
};

struct netns_ipv4 {
  struct inet_timewait_death_row tcp_death_row;
};

struct net {
  u32 hash_mix;
  struct netns_ipv4 ipv4;
};

typedef struct {
  struct net* net;
} possible_net_t;

struct sock_common {
  u32 skc_daddr;
  u32 skc_rcv_saddr;
  u16 skc_dport;
  u16 skc_num; /* local port, in the order of the CPU's bytes */
  u16 skc_family;
  u8 skc_state;
  possible_net_t skc_net;
  struct hlist_nulls_node skc_nulls_node;
  struct in6_addr skc_v6_daddr;
  struct in6_addr skc_v6_rcv_saddr;
};

struct socket;

struct sock {
  struct sock_common __sk_common;
  struct socket* sk_socket; /* null: no descriptor of the socket is open any more */
  int sk_err;
  u32 sk_ack_backlog;
  u32 sk_max_ack_backlog;
  u8 sk_userlocks : 4;
  u16 sk_protocol;
  u16 sk_type;
};

struct inet_sock {
  u16 inet_sport;
};

struct inet_bind_bucket {
  signed char fastreuse; /* -1: the port was chosen for a connect() */
};

struct inet_connection_sock {
  struct inet_bind_bucket* icsk_bind_hash;
  struct hlist_nulls_node icsk_listen_portaddr_node; /* before Linux 5.19 */
  struct {
    u32 lrcvtime; /* last data received, in jiffies */
  } icsk_ack;
};

struct tcp_sock {
  u32 lsndtime;        /* last data sent, in jiffies */
  u32 write_seq;       /* sequence number behind all that the program has written */
  u64 first_tx_mstamp; /* when the data on its way was sent first, in us of CLOCK_MONOTONIC */
};

struct sockaddr_un {
  u16 sun_family;
  char sun_path[108];
};

struct unix_address {
  int len;
  struct sockaddr_un name[0];
};

struct unix_sock {
  struct unix_address* addr;
  struct sock* peer;
};

struct socket {
  struct sock* sk;
};

struct socket_alloc {
  struct socket socket;
  struct inode vfs_inode;
};

#pragma clang attribute pop
