#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write the vector files: generate.py DIRECTORY

The output depends on nothing but these scripts; the files kept beside them are
compared with it by a test.  README says what the lines mean.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import frames  # noqa: E402
import slots  # noqa: E402

for name, module in (("slots.txt", slots), ("frames.txt", frames)):
    with open(os.path.join(sys.argv[1], name), "w") as out:
        out.write("# Written by generate.py; see README.\n")
        module.write(out)
