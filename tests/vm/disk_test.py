#!/usr/bin/env python3
"""The programs that a guest has on its own disk."""
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import disk


class Disk(unittest.TestCase):
    def test_has_programs_with_their_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder).resolve()
            (build / "deep").mkdir()
            shutil.copy("/bin/true", build / "deep/program")
            shutil.copy("/bin/true", build / "part.o")
            (build / "text").write_text("\x7fEL")
            (build / "link").symlink_to("deep/program")
            paths = disk.programs_and_libraries(build)
            self.assertEqual([path for path in paths if path.is_relative_to(build)], [build / "deep/program"])
            self.assertIn("libc.so.6", [path.name for path in paths])
            self.assertTrue(all(path.is_absolute() and path.is_file() and not path.is_symlink() for path in paths))


if __name__ == "__main__":
    unittest.main(verbosity=2)
