// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* What doctor looks at that has nothing to do with the network. */
#include "doctor.h"

#include <linux/tally.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MEMLOCK_LOW	(64ull << 20)	/* bytes; Debian's default is 8 MiB */

static void check_kernel(struct cli *cli, struct findings *f)
{
	unsigned int major = 0, minor = 0;
	char release[128];

	if (cli_read_file(cli, "/proc/sys/kernel/osrelease", release,
			  sizeof(release)) <= 0 ||
	    sscanf(release, "%u.%u", &major, &minor) != 2) {
		findings_add(f, FINDING_WARN, "kernel", "the kernel's version cannot be read");
		findings_remedy(f, "mount /proc: mount -t proc proc /proc");
		return;
	}
	release[strcspn(release, "\n")] = 0;
	if (major > 6 || (major == 6 && minor >= 12)) {
		findings_add(f, FINDING_OK, "kernel", "Linux %s", release);
		return;
	}
	findings_add(f, FINDING_FAIL, "kernel", "Linux %s: the module needs 6.12 or later",
		     release);
	findings_remedy(f, "boot a newer kernel (Debian 12: linux-image-amd64 from bookworm-backports)");
}

static bool check_module(struct cli *cli, struct findings *f)
{
	if (doctor_module_loaded(cli)) {
		findings_add(f, FINDING_OK, "module", "tally is loaded");
		return true;
	}
	findings_add(f, FINDING_FAIL, "module", "tally is not loaded");
	if (cli_have_file(cli, "/proc/modules"))
		findings_remedy(f, "modprobe tally, or insmod tally.ko (make modules builds it)");
	else
		findings_remedy(f, "this kernel cannot load modules: boot one with CONFIG_MODULES=y, or run a guest");
	return false;
}

/* Return: the device's minor number by /proc/misc, or -1. */
static int misc_minor(struct cli *cli)
{
	char text[4096], *line, *save, name[64];
	int minor;

	if (cli_read_file(cli, "/proc/misc", text, sizeof(text)) <= 0)
		return -1;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%d %63s", &minor, name) == 2 &&
		    !strcmp(name, "tally"))
			return minor;
	return -1;
}

static void check_info(const struct tally_info *info, struct findings *f)
{
	if (info->out_abi != TALLY_ABI_VERSION) {
		findings_add(f, FINDING_FAIL, "device", "the module has ABI %u, this command %d",
			     info->out_abi, TALLY_ABI_VERSION);
		findings_remedy(f, "load the module that came with this command: rmmod tally; modprobe tally");
	}
	if (!(info->out_features & TALLY_FEATURE_KFUNC)) {
		findings_add(f, FINDING_WARN, "device", "XDP programs cannot call the module: it was built without BTF");
		findings_remedy(f, "install pahole and build it where the kernel's headers have vmlinux: make modules");
	}
	if (!(info->out_features & TALLY_FEATURE_IPV6)) {
		findings_add(f, FINDING_INFO, "device", "the module serves IPv4 only");
		findings_remedy(f, "for IPv6 boot without ipv6.disable=1");
	}
}

static void check_device(struct cli *cli, struct findings *f)
{
	struct tally_info info = { .size = sizeof(info) };
	int minor, ret;

	if (!cli_have_file(cli, "/dev/tally")) {
		minor = misc_minor(cli);
		findings_add(f, FINDING_FAIL, "device", "/dev/tally is missing");
		if (minor >= 0)
			findings_remedy(f, "mknod -m 666 /dev/tally c 10 %d, or start udev",
					minor);
		else
			findings_remedy(f, "load the module again and see 'dmesg'");
		return;
	}
	ret = cli->info(&info);
	if (ret) {
		findings_add(f, FINDING_FAIL, "device", "/dev/tally does not answer: %s",
			     strerror(-ret));
		findings_remedy(f, ret == -EACCES || ret == -EPERM ?
				"chmod 666 /dev/tally: who may attach is said by each group's gid" :
				"remove the file and load the module again");
		return;
	}
	findings_add(f, FINDING_OK, "device", "/dev/tally: ABI %u, UDP port %u, %u groups",
		     info.out_abi, info.out_port, info.out_groups);
	check_info(&info, f);
}

static void check_btf(struct cli *cli, bool loaded, struct findings *f)
{
	if (!cli_have_file(cli, "/sys/kernel/btf/vmlinux")) {
		findings_add(f, FINDING_WARN, "btf", "the kernel has no BTF: XDP cannot be used, packets go by the socket path");
		findings_remedy(f, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
		return;
	}
	if (!loaded) {
		findings_add(f, FINDING_OK, "btf", "the kernel has BTF");
		return;
	}
	if (cli_have_file(cli, "/sys/kernel/btf/tally")) {
		findings_add(f, FINDING_OK, "btf", "the kernel and the module have BTF");
		return;
	}
	findings_add(f, FINDING_WARN, "btf", "the module has no BTF: XDP cannot call it, packets go by the socket path");
	findings_remedy(f, "install pahole and build it where the kernel's headers have vmlinux: make modules");
}

/* Return: whether a file system of @type is mounted; where goes to @at. */
static bool mounted(struct cli *cli, const char *type, char *at, size_t size)
{
	char *text = malloc(65536), *line, *save, where[256], kind[64];
	bool found = false;

	if (!text)
		return false;
	if (cli_read_file(cli, "/proc/self/mounts", text, 65536) < 0)
		*text = 0;
	for (line = strtok_r(text, "\n", &save); line && !found;
	     line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%*s %255s %63s", where, kind) == 2 &&
		    !strcmp(kind, type)) {
			snprintf(at, size, "%s", where);
			found = true;
		}
	free(text);
	return found;
}

static void check_bpf(struct cli *cli, struct findings *f)
{
	char where[256];
	long long v;

	if (mounted(cli, "bpf", where, sizeof(where))) {
		findings_add(f, FINDING_OK, "bpffs", "mounted on %s", where);
	} else {
		findings_add(f, FINDING_WARN, "bpffs", "no BPF file system is mounted: XDP programs cannot share a device");
		findings_remedy(f, "mount -t bpf bpf /sys/fs/bpf");
	}
	v = doctor_number(cli, "/proc/sys/net/core/bpf_jit_enable");
	if (!v) {
		findings_add(f, FINDING_WARN, "jit", "BPF programs are interpreted, which is many times slower");
		findings_remedy(f, "sysctl -w net.core.bpf_jit_enable=1");
	} else if (v > 0) {
		findings_add(f, FINDING_OK, "jit", "BPF programs are compiled");
	}
	v = doctor_number(cli, "/proc/sys/kernel/unprivileged_bpf_disabled");
	if (!v) {
		findings_add(f, FINDING_WARN, "bpf", "any user may load BPF programs, which tally does not need");
		findings_remedy(f, "sysctl -w kernel.unprivileged_bpf_disabled=2");
	} else if (v > 0) {
		findings_add(f, FINDING_OK, "bpf", "only privileged users may load BPF programs");
	}
}

static void check_limits(struct cli *cli, bool loaded, struct findings *f)
{
	char text[UNITS_TEXT];
	struct rlimit limit;
	long long v;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit)) {
		if (limit.rlim_cur == RLIM_INFINITY)
			snprintf(text, sizeof(text), "unlimited");
		else
			units_size_human(limit.rlim_cur, text, sizeof(text));
		if (limit.rlim_cur == RLIM_INFINITY ||
		    limit.rlim_cur >= MEMLOCK_LOW) {
			findings_add(f, FINDING_OK, "memlock", "locked memory of a process: %s",
				     text);
		} else {
			findings_add(f, FINDING_INFO, "memlock", "locked memory of a process: %s; pinned GPU buffers may want more",
				     text);
			findings_remedy(f, "ulimit -l unlimited, or LimitMEMLOCK=infinity in its systemd unit");
		}
	}
	v = loaded ? doctor_number(cli, "/proc/sys/net/tally/mem_max") : -1;
	if (v >= 0)
		findings_add(f, FINDING_OK, "memory", "groups of this namespace may take %s (net.tally.mem_max)",
			     units_size_human((uint64_t)v, text, sizeof(text)));
}

/*
 * The module's own sockets do not depend on these; processes that exchange
 * state over TCP or run the protocol themselves do.
 */
static void check_buffers(struct cli *cli, struct findings *f)
{
	static const char *const names[] = { "rmem_max", "wmem_max" };
	const long long low = 1 << 20;
	char path[64], text[UNITS_TEXT];
	long long v;
	size_t i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/core/%s",
			 names[i]);
		v = doctor_number(cli, path);
		if (v < 0)
			continue;
		units_size_human((uint64_t)v, text, sizeof(text));
		if (v >= low) {
			findings_add(f, FINDING_OK, "buffers", "net.core.%s is %s",
				     names[i], text);
			continue;
		}
		findings_add(f, FINDING_INFO, "buffers", "net.core.%s is %s: sockets of processes lose bursts (the module's do not)",
			     names[i], text);
		findings_remedy(f, "sysctl -w net.core.%s=4194304", names[i]);
	}
}

void doctor_host(struct cli *cli, struct findings *f)
{
	bool loaded;

	check_kernel(cli, f);
	loaded = check_module(cli, f);
	if (loaded)
		check_device(cli, f);
	check_btf(cli, loaded, f);
	check_bpf(cli, f);
	check_limits(cli, loaded, f);
	check_buffers(cli, f);
}
