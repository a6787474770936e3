# SPDX-License-Identifier: GPL-2.0-only
tests-native += selftests/style/style.t
