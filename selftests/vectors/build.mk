# SPDX-License-Identifier: GPL-2.0-only
#
# Who reads the vector files builds vectors.c with these flags.

VECTORS_CFLAGS := -DVECTORS_DIR='"$(CURDIR)/selftests/vectors"'

tests-native += selftests/vectors/fresh.sh
