/* SPDX-License-Identifier: GPL-2.0 */
/* The part of bpf/kernel.h about files: paths, descriptors, file systems. */
#pragma once

#include "bpf/wire.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
  unsigned long s_magic;
};

struct inode {
  struct super_block* i_sb;
  u16 i_mode;
  unsigned long i_ino;
};

struct hlist_bl_node {
  void** pprev; /* null: in no list */
};

struct qstr {
  const unsigned char* name;
};

struct dentry {
  struct hlist_bl_node d_hash;
  struct dentry* d_parent;
  struct qstr d_name;
};

struct vfsmount {
  struct dentry* mnt_root;
};

struct mount {
  struct mount* mnt_parent;
  struct dentry* mnt_mountpoint;
  struct vfsmount mnt;
};

struct path {
  struct vfsmount* mnt;
  struct dentry* dentry;
};

struct fs_struct {
  struct path root;
};

struct file {
  struct inode* f_inode;
  struct path f_path;
  void* private_data; /* of a socket: its struct socket */
};

struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

#pragma clang attribute pop
