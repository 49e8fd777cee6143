"""A program writes to a disk in a cgroup that may write a megabyte a second."""
import os

from scenario import Truth

GROUP = "disk"
SYMPTOM = "a container writes slowly, and the disk is idle"
READING = """\
The disk had hardly anything to do: the kernel holds the requests back. The cgroup is named with its
limit."""
TRUTH = Truth(cause=r"held back .* the limit of cgroup /odt-disk-\d+, 1\.0 MB/s of writes", who="importer", by="disk",
              example="pwrite64")
LIMIT = 1 << 20

PROGRAM = '''
import os
name("importer")
with open(sys.argv[1], "w") as procs:
    procs.write(str(os.getpid()))
file = os.open("data", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
block = bytes(1 << 16)
say("ready")
while True:
    begin = now()
    os.pwrite(file, block, 0)
    say("wait", begin, now() - begin)
'''


def disk_under(folder):
    """The number of the disk, not of its partition."""
    number = os.stat(folder).st_dev
    path = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    whole = os.path.dirname(path) if os.path.exists(f"{path}/partition") else path
    with open(f"{whole}/dev", encoding="ascii") as file:
        return file.read().strip()


def start(stage):
    stage.require_disk()
    v1 = os.path.exists("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
    root, file = ("/sys/fs/cgroup/blkio", "blkio.throttle.write_bps_device") if v1 else ("/sys/fs/cgroup", "io.max")
    limit = f"{disk_under(stage.folder)} {'' if v1 else 'wbps='}{LIMIT}"
    return ["-p", stage.python(PROGRAM, stage.cgroup(root, "odt-disk", file, limit)).pid]
