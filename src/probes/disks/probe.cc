#include "probes/disks/probe.h"

#include <cstring>
#include <vector>

#include "disks.skel.h"
#include "kernel/features.h"
#include "kernel/skeleton.h"

namespace overdue {
namespace {

constexpr Field disk_use_fields[] = {
    OVERDUE_FIELD(disk_use, requests, count, value, "requests that the disk completed"),
    OVERDUE_FIELD(disk_use, data_bytes, bytes, value, "bytes read and written"),
    OVERDUE_FIELD(disk_use, device_ns, nanoseconds, value,
                  "their time in the device, which works on several at once"),
    OVERDUE_FIELD(disk_use, disk, text, key, "name of the disk"),
};
constexpr const Schema* disk_schemas[] = {&disk_use_schema};

Support disk_support(const Kernel& kernel) {
  return kernel.session({"block_rq_insert", "block_rq_issue", "block_rq_requeue", "block_rq_merge",
                         "block_rq_complete"});
}

/// The program's own layout of its table.
struct DiskUser {
  u32 pid, reserved;
  char comm[COMM_SIZE];
  char disk[DISK_NAME_SIZE];
};
struct DiskSums {
  u64 requests, bytes, device_ns;
};

}  // namespace

struct DisksProbe::Impl {
  Skeleton<disks_bpf> bpf{"disks"};
  std::vector<Link> links;
};

DisksProbe::DisksProbe(const SharedMaps& shared) : impl_(std::make_unique<Impl>()) {
  share_maps(impl_->bpf->obj, shared);
  impl_->bpf.load();
  auto& programs = impl_->bpf->progs;
  for (bpf_program* program : {programs.on_complete, programs.on_merge, programs.on_requeue,
                               programs.on_issue, programs.on_insert})
    impl_->links.push_back(attach(program));
}

DisksProbe::~DisksProbe() = default;

void DisksProbe::finish(KernelTime end, const RecordHandler& handler) {
  impl_->links.clear();
  const int users = bpf_map__fd(impl_->bpf->maps.disk_users);
  DiskUser user{};
  const DiskUser* previous = nullptr;
  for (; bpf_map_get_next_key(users, previous, &user) == 0; previous = &user) {
    DiskSums sums{};
    if (bpf_map_lookup_elem(users, &user, &sums) != 0) continue;
    disk_use record{};
    record.header.time_ns = static_cast<u64>(end.time_since_epoch().count());
    record.header.kind = RECORD_DISK_USE;
    record.header.size = sizeof record;
    record.header.pid = user.pid;
    std::memcpy(record.header.comm, user.comm, sizeof record.header.comm);
    std::memcpy(record.disk, user.disk, sizeof record.disk);
    record.requests = sums.requests;
    record.data_bytes = sums.bytes;
    record.device_ns = sums.device_ns;
    handler({&disk_use_schema, std::as_bytes(std::span(&record, 1))});
  }
}

Counters DisksProbe::counters() const {
  return read_counters(impl_->bpf->obj);
}

const Schema disk_use_schema{.id = RECORD_DISK_USE,
                             .name = "disk_use",
                             .size = sizeof(disk_use),
                             .fields = disk_use_fields,
                             .help = "what a process asked of a disk"};

extern const std::string_view disks_manual;

const ProbeInfo disks_probe{.name = "disks",
                            .summary = "what each process asks of each disk: sums of requests",
                            .manual = disks_manual,
                            .schemas = disk_schemas,
                            .support = disk_support};

}  // namespace overdue
