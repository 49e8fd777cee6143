#!/usr/bin/python3
"""`overdue stalls` of waits for a disk. The speed of the disk and the load of the machine are
unknown. For each fsync, io-demo reads the kernel's own accounts, which do not depend on tracing:
the time on the CPU, in the run queue and waiting. The findings must agree with these accounts. How
an fsync waited is checked only if it waited by these accounts."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import disk_folder, main, workload
from stall_findings import (Case, described_all, context_of, functions, has_unseen_wait, is_within, longest_wait, ms,
                            real_time, stalls, described)

# The kernel's accounts and Overdue read their clocks at different moments of a switch or wake-up.
# The scheduler's time is often that of the last interrupt, so some of Overdue's run-queue time is
# CPU time to the scheduler: tens of microseconds on a virtual machine.
WAIT_SLACK_NS = 100_000


def stolen_ns():
    """The machine's stolen time so far, in steps of a hundredth of a second."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = file.readline().split()
    return int(fields[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK") if len(fields) > 8 else 0


class Account:
    """A finding beside the kernel's accounts of the same call. io-demo times a little more than the
    call: only the accounts have the time that its thread loses before it reads the clock."""

    def __init__(self, finding, sync):
        parts = finding["breakdown"]
        self.finding, self.sync = finding, sync
        self.cpu = parts["oncpu_ns"] + parts["irq_ns"] + parts["softirq_ns"]
        self.runqueue = parts["runqueue_ns"] + parts["preempted_ns"]
        self.blocked = parts["blocked_ns"]
        self.blocked_by_account = sync["took_ns"] - sync["cpu_ns"] - sync["runqueue_ns"]
        self.outside = sync["took_ns"] - finding["latency_ns"]
        self.slack = WAIT_SLACK_NS * (sync["waits"] + 1)

    def off_by(self):
        """The distance in ns of the finding's parts from the possible ones; 0 if they agree."""
        sync, slack = self.sync, self.slack

        def beyond(said, account):
            return max(0, said - account - slack, account - said - self.outside - slack)
        wrong = max(beyond(self.cpu, sync["cpu_ns"]), beyond(self.runqueue, sync["runqueue_ns"]),
                    beyond(self.blocked, self.blocked_by_account))
        return wrong if sync["waits"] or not self.blocked else max(wrong, self.blocked)

    def waited_mostly(self):
        """Whether the call waited for most of its time, by the accounts."""
        return self.blocked_by_account > self.finding["latency_ns"] / 2

    def __str__(self):
        sync = self.sync
        return (f"\n  accounts: {ms(sync['took_ns'])} ms: CPU {ms(sync['cpu_ns'])}, run queue "
                f"{ms(sync['runqueue_ns'])}, left {ms(self.blocked_by_account)} in {sync['waits']} waits; "
                f"we are off by {ms(self.off_by())}: "
                f"{described(self.finding)}")


class Disk(Case):
    def synchronised(self, parent, *in_front):
        stolen = stolen_ns()
        with tempfile.TemporaryDirectory(dir=parent) as folder:
            seen = stalls("-T", "300us", "-e", "fsync", "--", *in_front, workload("io-demo"), "--dir", folder,
                          "--count", 30, "--size", "4M", "-d", "60s")  # few disks are quicker
        self.stolen = stolen_ns() - stolen
        self.assert_sound(seen)
        if not seen.found:
            slowest = max(sync["took_ns"] - (sync["runqueue_ns"] or 0) for sync in seen.events("fsync"))
            self.assertLess(slowest, 300_000 + WAIT_SLACK_NS, "late, and not found")
            self.skipTest(f"4 MiB are on the disk, or in {parent}, in {ms(slowest)} ms at most: nothing is late")
        return seen

    def test_the_disk_of_a_completion_has_its_name(self):
        seen = self.synchronised(disk_folder())
        wakers = [step for one in seen.found for step in one["chain"]]
        wakers += [wait["waker"] for one in seen.found for wait in one["waits"] if "waker" in wait]
        disks = [waker.get("disk") for waker in wakers if waker.get("means") == "disk completion"]
        self.assertTrue(disks, f"fsyncs wait for their disk: {described_all(seen.found)}")
        self.assertEqual(set(disks) - set(os.listdir("/sys/block")), set(), described_all(seen.found))

    def accounts(self, seen):
        syncs, accounts = seen.events("fsync"), []
        for finding in seen.found:
            own = [sync for sync in syncs if is_within(finding, sync)]
            self.assertEqual(len(own), 1, described(finding))
            self.assert_complete(finding, "main", "bring_to_the_disk", "fsync")
            if own[0]["runqueue_ns"] is None:
                self.skipTest("this kernel keeps no account of run queues")
            accounts.append(Account(finding, own[0]))
        return accounts

    def assert_stolen(self, off, number):
        """Time that a hypervisor takes from a running thread is only in the sum of stolen time."""
        self.assertLessEqual(sum(account.off_by() for account in off), self.stolen,
                             f"{len(off)} of {number} disagree with the accounts, a hypervisor took "
                             f"{ms(self.stolen)} ms: {''.join(map(str, off))}")

    def test_parts(self):
        """The parts of each call agree with the kernel's own accounts."""
        seen = self.synchronised(os.environ.get("TMPDIR") or "/var/tmp")
        accounts = self.accounts(seen)
        off = [account for account in accounts if account.off_by()]
        if len(off) > len(accounts) / 5:
            self.assert_stolen(off, len(accounts))

    def test_waits(self):
        """An fsync waits in D, in the kernel's fsync, and its chain ends in the disk's
        interrupt. With ordinary priority, it would wait for a CPU on a busy machine."""
        seen = self.synchronised(disk_folder(), *real_time())
        accounts = self.accounts(seen)
        mostly = [account for account in accounts if account.waited_mostly()]
        if not mostly:
            self.skipTest(f"none of {len(accounts)} late fsyncs waited for most of its time, as in {accounts[0]}")
        waited = [account.finding for account in mostly if not account.off_by()]
        if not waited:
            self.assert_stolen(mostly, len(accounts))
            self.skipTest(f"what seems to be waits, a hypervisor took: {ms(self.stolen)} ms, as in {mostly[0]}")
        by_disk, known = 0, 0
        for finding in waited:
            blocked = finding["blocked"]["uninterruptible_ns"]
            self.assertGreater(blocked, 0.9 * finding["breakdown"]["blocked_ns"], f"in D: {described(finding)}")
            wait = longest_wait(finding)
            self.assertEqual(wait["state"], "uninterruptible", described(finding))
            if not has_unseen_wait(finding):
                self.assertIn("__x64_sys_fsync", functions(wait["kernel_stack"]), described(finding))
            ends = [context_of(wait)] + [link["what"] for link in finding["chain"]]
            known += bool(context_of(wait))
            by_disk += any(re.match(r"softirq (BLOCK|NET_RX)|irq \d+|vector ", end) for end in ends)
        if not known:
            self.skipTest(f"the kernel kept all {len(waited)} wake-ups to itself")
        self.assertGreater(by_disk, known / 2, f"woken by the disk, or by who waited for it: {described_all(waited)}")


if __name__ == "__main__":
    main()
