"""Folded stacks that look like those of a real program, the same at every run: a database-like server
with request handlers, a writer and a log thread."""
import random

REQUEST = ["_start", "__libc_start_main", "main", "server::Loop::run()", "server::Connection::on_readable(epoll_event const&)"]
PARTS = {
    "parse": ["sql::Parser::parse(std::string_view)", "sql::Lexer::next()", "utf8::decode(char const*, char const*)"],
    "plan": ["plan::Planner::plan(sql::Statement const&)", "plan::join_order(std::vector<plan::Relation>&)",
             "plan::Cost::estimate(plan::Relation const&)", "stats::Histogram::selectivity(double, double) const"],
    "run": ["exec::Executor::run(plan::Node const&)", "exec::HashJoin::probe(exec::Row const&)",
            "exec::Scan::next()", "btree::Cursor::descend(btree::PageId)", "buffer::Pool::pin(btree::PageId)"],
}
READ = ["__pread64_nocancel", "pread64_[s]", "do_syscall_64_[k]", "vfs_read_[k]", "ext4_file_read_iter_[k]",
        "filemap_read_[k]", "page_cache_sync_ra_[k]", "submit_bio_[k]", "nvme_queue_rq_[k]"]
SYNC = ["fdatasync", "fdatasync_[s]", "do_syscall_64_[k]", "vfs_fsync_range_[k]", "ext4_sync_file_[k]",
        "jbd2_log_wait_commit_[k]", "schedule_[k]", "off the CPU_[o]"]
LOCK = ["pthread_mutex_lock", "futex_[s]", "do_syscall_64_[k]", "futex_wait_[k]", "schedule_[k]", "off the CPU_[o]"]
HOSTILE = ["<script>alert(1)</script>", "\"quotes' & ]]> --> <![CDATA[", "\\x1b[31mred\\x0a", "\u202egnp.exe",
           "שלום", "操作系统调用", "App\\Service\\x", "a\xadb\ufeff\uffff"]


def folded(seed=1, scale=1):
    """The lines, weights in µs."""
    dice = random.Random(seed)
    lines = []

    def add(stack, mean):
        lines.append(";".join(stack) + f" {max(1, int(dice.expovariate(1 / mean) * scale))}")

    for handler in range(8):
        thread = [f"handler-{handler}"] + REQUEST
        for part, frames in PARTS.items():
            for depth in range(1, len(frames) + 1):
                add(thread + frames[:depth], 4000)
                for leaf in range(dice.randrange(6)):
                    add(thread + frames[:depth] + [f"detail::visit_{part}<{leaf}, std::pair<int, std::string>>(int)"],
                        dice.choice([30, 300, 3000]))
        for depth in range(2, len(READ) + 1):
            add(thread + PARTS["run"] + READ[:depth], 2500)
        add(thread + PARTS["run"] + ["buffer::Pool::evict()"] + LOCK, 9000)
        deep = [f"eval::Expression::reduce(int)#{level}" for level in range(28)]
        for depth in range(4, 28, 3):
            add(thread + PARTS["run"][:2] + deep[:depth], 500)
    for depth in range(2, len(SYNC) + 1):
        add(["wal-writer", "clone3", "start_thread", "wal::Writer::loop()", "wal::Segment::flush()"] + SYNC[:depth], 8000)
    add(["log", "clone3", "start_thread", "log::Sink::run()", "[unknown]", "0x7f33d1c0a1b2"], 9000)
    add(["log", "clone3", "start_thread", "log::Sink::run()"] + LOCK, 22000)
    for name in HOSTILE:
        lines.append(f"hostile;{name} 4000")
    return lines


if __name__ == "__main__":
    print("\n".join(folded()))
