#include "core/socket_schema.h"

namespace overdue {
namespace {

constexpr Field socket_fields[] = {
    OVERDUE_FIELD(socket_queue, inode, none, key, "of the socket"),
    OVERDUE_FIELD(socket_queue, receive_bytes, bytes, value, "received, and not read yet"),
    OVERDUE_FIELD(socket_queue, send_bytes, bytes, value,
                  "written, and not sent or not acknowledged yet"),
    OVERDUE_FIELD(socket_queue, drops, count, value,
                  "packets without room since the session began (UDP)"),
    OVERDUE_FIELD(socket_queue, text, text, value, "protocol and addresses"),
};
constexpr Field softnet_fields[] = {
    OVERDUE_FIELD(softnet_counts, packets, count, value, "taken from network devices since boot"),
    OVERDUE_FIELD(softnet_counts, dropped, count, value,
                  "of these, dropped for want of room in the queue of a CPU"),
    OVERDUE_FIELD(softnet_counts, squeezed, count, value,
                  "times that softirqs left packets for later"),
};

}  // namespace

const Schema socket_queue_schema{.id = RECORD_SOCKET_QUEUE,
                                 .name = "socket_queue",
                                 .size = sizeof(socket_queue),
                                 .fields = socket_fields,
                                 .help = "what waits in a socket of the target"};
const Schema softnet_schema{.id = RECORD_SOFTNET,
                            .name = "softnet",
                            .size = sizeof(softnet_counts),
                            .fields = softnet_fields,
                            .help = "packets that the kernel took and dropped, on all CPUs"};

}  // namespace overdue
