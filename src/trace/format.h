#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// Constants of trace files, shared by reader and writer. See docs/trace-format.md.
namespace overdue::trace_format {

inline constexpr std::string_view magic = "OVERDUE\n";
inline constexpr std::uint16_t major_version = 1;
inline constexpr std::uint16_t minor_version = 0;
inline constexpr std::size_t file_header_size = 16;

inline constexpr std::array<std::uint8_t, 4> chunk_mark = {0x89, 'O', 'D', 'C'};
inline constexpr std::size_t chunk_header_size = 48;
inline constexpr std::uint32_t max_payload = 16U << 20;  ///< stored or raw

/// Append only; never renumber.
enum class ChunkType : std::uint16_t { info = 1, schema = 2, records = 3, receipt = 4, end = 5 };

inline constexpr std::uint16_t flag_zstd = 1;

inline constexpr std::size_t record_header_size = 48;
inline constexpr std::size_t max_record_size = 65535;
inline constexpr std::size_t record_kind_offset = 24;
inline constexpr std::size_t record_size_offset = 26;

// Tags of field lists. Append only; never renumber.
enum InfoTag : std::uint16_t {
  info_version = 1,
  info_command = 2,
  info_host = 3,
  info_kernel = 4,
  info_arch = 5,
  info_cpus = 6,
  info_start_wall_ns = 7,
  info_start_ns = 8,
  info_duration_ns = 9,
  info_backend = 10,
  info_note = 11,
  info_target = 12,
  info_syscall = 13,
  info_cgroup = 14,
  info_threshold = 15,
  info_caller = 16,
  info_span = 17,
  info_only = 18,
  info_option = 19,
  info_kernel_thread = 20,
};
enum TargetTag : std::uint16_t {
  target_kind = 1,
  target_value = 2,
  target_pid = 3,
  target_follows_children = 4,
  target_cpus = 5,
};
enum SyscallTag : std::uint16_t { syscall_abi_number = 1, syscall_number = 2, syscall_name = 3 };
enum CallerTag : std::uint16_t { caller_number = 1, caller_library = 2, caller_function = 3 };
enum OptionTag : std::uint16_t { option_name = 1, option_value = 2 };
enum KernelThreadTag : std::uint16_t { kernel_thread_tid = 1, kernel_thread_name = 2 };
enum CgroupTag : std::uint16_t { cgroup_id = 1, cgroup_path = 2 };
enum SchemaTag : std::uint16_t {
  schema_id = 1,
  schema_name = 2,
  schema_size = 3,
  schema_help = 4,
  schema_field = 5,
};
enum FieldTag : std::uint16_t {
  field_name = 1,
  field_offset = 2,
  field_size = 3,
  field_unit = 4,
  field_role = 5,
  field_help = 6,
};
enum ReceiptTag : std::uint16_t {
  receipt_events = 1,
  receipt_unmatched = 2,
  receipt_cut = 3,
  receipt_probe_runs = 4,
  receipt_probe_ns = 5,
  receipt_target_cpu_ns = 6,
  receipt_lost = 7,
  receipt_refused = 8,
  receipt_probe_error_ns = 9,
  receipt_probe_target_ns = 10,
  receipt_own_cpu_ns = 11,
  receipt_own_memory_bytes = 12,
  receipt_bpf_bytes = 13,
};
enum LossTag : std::uint16_t { loss_reason = 1, loss_count = 2 };

}  // namespace overdue::trace_format
