// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The XDP program on devices, by libxdp.  The BPF object is part of the
 * command: bpftool's skeleton of bpf/tally_host.bpf.c.
 *
 * libxdp keeps the programs of a device in a dispatcher and pins them in the
 * BPF file system.  Where the kernel does not let it, it attaches one program
 * alone; so does `ip link`.
 */
#include "xdp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/magic.h>
#include <xdp/libxdp.h>

#include "tally_host.skel.h"

#define BPFFS		"/sys/fs/bpf"
#define ONE_PAGE_MTU	3400	/* larger frames may lie in fragments */
#define MAPS_MAX	8

/* The first warning of libbpf or libxdp since quiet(). */
static __thread char said[256];

static void keep(const char *fmt, va_list args)
{
	char line[sizeof(said)], *at = line, *end;

	if (said[0])
		return;
	vsnprintf(line, sizeof(line), fmt, args);
	at += strspn(at, " ");
	end = strstr(at, ": ");
	if (end && (!strncmp(at, "libbpf: ", 8) || !strncmp(at, "libxdp: ", 8)))
		at = end + 2;
	at[strcspn(at, "\n")] = 0;
	snprintf(said, sizeof(said), "%s", at);
}

static int keep_libbpf(enum libbpf_print_level level, const char *fmt,
		       va_list args)
{
	if (level == LIBBPF_WARN)
		keep(fmt, args);
	return 0;
}

static int keep_libxdp(enum libxdp_print_level level, const char *fmt,
		       va_list args)
{
	if (level == LIBXDP_WARN)
		keep(fmt, args);
	return 0;
}

static void quiet(void)
{
	said[0] = 0;
	libbpf_set_print(keep_libbpf);
	libxdp_set_print(keep_libxdp);
}

static int __attribute__((format(printf, 3, 4)))
say(char why[XDP_WHY_MAX], int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, XDP_WHY_MAX, fmt, args);
	va_end(args);
	return err;
}

int xdp_mode_parse(const char *word, enum xdp_mode *mode)
{
	if (!strcmp(word, "auto"))
		*mode = XDP_AUTO;
	else if (!strcmp(word, "native"))
		*mode = XDP_NATIVE;
	else if (!strcmp(word, "skb") || !strcmp(word, "generic"))
		*mode = XDP_GENERIC;
	else
		return -EINVAL;
	return 0;
}

const char *xdp_mode_name(enum xdp_mode mode)
{
	static const char *const names[] = {
		[XDP_AUTO] = "auto",
		[XDP_NATIVE] = "native",
		[XDP_GENERIC] = "generic",
		[XDP_OFFLOAD] = "offload",
		[XDP_NONE] = "none",
	};

	return names[mode];
}

static enum xdp_mode from_libxdp(enum xdp_attach_mode mode)
{
	switch (mode) {
	case XDP_MODE_NATIVE:
		return XDP_NATIVE;
	case XDP_MODE_SKB:
		return XDP_GENERIC;
	case XDP_MODE_HW:
		return XDP_OFFLOAD;
	default:
		return XDP_NONE;
	}
}

static enum xdp_attach_mode to_libxdp(enum xdp_mode mode)
{
	return mode == XDP_GENERIC ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

static unsigned int mtu_of(const char *dev)
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (ioctl(fd, SIOCGIFMTU, &ifr))
		ifr.ifr_mtu = 0;
	close(fd);
	return ifr.ifr_mtu;
}

static bool is_tally(const char *name)
{
	return !strcmp(name, "tally_host") || !strcmp(name, "tally_frags");
}

/* True if the translated program calls functions of a module or the kernel. */
static bool calls_kernel(int fd)
{
	struct bpf_prog_info info = { 0 };
	struct bpf_insn *insns;
	__u32 size = sizeof(info), i, n;
	bool found = false;

	if (bpf_obj_get_info_by_fd(fd, &info, &size) || !info.xlated_prog_len)
		return false;
	n = info.xlated_prog_len / sizeof(*insns);
	insns = calloc(n, sizeof(*insns));
	if (!insns)
		return false;
	memset(&info, 0, sizeof(info));
	info.xlated_prog_len = n * sizeof(*insns);
	info.xlated_prog_insns = (uintptr_t)insns;
	size = sizeof(info);
	if (!bpf_obj_get_info_by_fd(fd, &info, &size)) {
		n = info.xlated_prog_len / sizeof(*insns) < n ?
			info.xlated_prog_len / sizeof(*insns) : n;
		for (i = 0; i < n && !found; i++)
			found = insns[i].code == (BPF_JMP | BPF_CALL) &&
				insns[i].src_reg == BPF_PSEUDO_KFUNC_CALL;
	}
	free(insns);
	return found;
}

static void add_counters(int map, struct tally_verdicts *sum)
{
	int cpus = libbpf_num_possible_cpus(), i;
	struct tally_verdicts *each;
	__u32 zero = 0;

	if (cpus <= 0)
		return;
	each = calloc(cpus, sizeof(*each));
	if (!each)
		return;
	if (!bpf_map_lookup_elem(map, &zero, each)) {
		for (i = 0; i < cpus; i++) {
#define ADD(name, text) sum->name += each[i].name;
			TALLY_VERDICTS(ADD)
#undef ADD
		}
	}
	free(each);
}

static void read_counters(int fd, struct tally_verdicts *sum)
{
	struct bpf_prog_info info = { 0 };
	struct bpf_map_info map_info;
	__u32 ids[MAPS_MAX], size = sizeof(info), i;
	int map;

	info.nr_map_ids = MAPS_MAX;
	info.map_ids = (uintptr_t)ids;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	for (i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++) {
		map = bpf_map_get_fd_by_id(ids[i]);
		if (map < 0)
			continue;
		memset(&map_info, 0, sizeof(map_info));
		size = sizeof(map_info);
		if (!bpf_obj_get_info_by_fd(map, &map_info, &size) &&
		    !strcmp(map_info.name, "verdicts") &&
		    map_info.value_size == sizeof(*sum))
			add_counters(map, sum);
		close(map);
	}
}

/* What libxdp knows of one program is enough for those of others. */
static void describe(struct xdp_status *status, const struct xdp_program *prog,
		     bool shared)
{
	const char *name = xdp_program__name(prog);
	int fd = xdp_program__fd(prog);

	if (!is_tally(name)) {
		if (shared) {
			status->others++;
			return;
		}
		status->foreign_id = xdp_program__id(prog);
		snprintf(status->foreign, sizeof(status->foreign), "%s", name);
		return;
	}
	status->id = xdp_program__id(prog);
	snprintf(status->name, sizeof(status->name), "%s", name);
	status->bound = calls_kernel(fd);
	status->shared = shared;
	read_counters(fd, &status->counters);
}

static int check_bpffs(char why[XDP_WHY_MAX])
{
	const char *path = getenv(XDP_BPFFS_ENVVAR);
	struct statfs fs;

	if (!path)
		path = BPFFS;
	if (!statfs(path, &fs) && fs.f_type == BPF_FS_MAGIC)
		return 0;
	return say(why, -ENOENT, "no BPF file system at %s; mount -t bpf bpf %s (not below 'ip netns exec', whose mounts end with it: use nsenter --net=/run/netns/NAME)",
		   path, path);
}

/*
 * What is on @dev.  Return: 0 with *@mp NULL or to be closed; -errno with @why.
 */
static int look(const char *dev, struct xdp_status *status,
		struct xdp_multiprog **mp, char why[XDP_WHY_MAX])
{
	struct xdp_program *prog = NULL;
	int err;

	quiet();
	why[0] = 0;
	*mp = NULL;
	memset(status, 0, sizeof(*status));
	snprintf(status->dev, sizeof(status->dev), "%s", dev);
	status->mode = XDP_NONE;
	status->module = !access("/sys/module/tally", F_OK);
	status->ifindex = if_nametoindex(dev);
	if (!status->ifindex)
		return say(why, -ENODEV, "no such device; 'ip link' lists them");
	status->mtu = mtu_of(dev);
	*mp = xdp_multiprog__get_from_ifindex(status->ifindex);
	err = libxdp_get_error(*mp);
	if (err) {
		*mp = NULL;
		if (err == -ENOENT)
			return 0;
		return say(why, err, "what is attached cannot be read: %s",
			   said[0] ? said : strerror(-err));
	}
	status->mode = from_libxdp(xdp_multiprog__attach_mode(*mp));
	if (xdp_multiprog__is_legacy(*mp)) {
		prog = xdp_multiprog__main_prog(*mp);
		/* A dispatcher whose programs are pinned elsewhere. */
		if (prog && !strcmp(xdp_program__name(prog), "xdp_dispatcher"))
			err = check_bpffs(why);
		if (err) {
			xdp_multiprog__close(*mp);
			*mp = NULL;
			return err;
		}
		if (prog)
			describe(status, prog, false);
		status->frags = !strcmp(status->name, "tally_frags");
		return 0;
	}
	while ((prog = xdp_multiprog__next_prog(prog, *mp)))
		describe(status, prog, true);
	status->frags = status->id && xdp_multiprog__xdp_frags_support(*mp);
	return 0;
}

/* Attach one of the two programs in one mode. */
static int try(const struct xdp_status *status, enum xdp_mode mode, bool frags,
	       uint16_t port)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts);
	struct xdp_program *prog;
	struct tally_host *skel;
	int err;

	quiet();
	skel = tally_host__open();
	if (!skel)
		return -errno;
	skel->rodata->port = port;
	bpf_program__set_autoload(skel->progs.tally_host, !frags);
	bpf_program__set_autoload(skel->progs.tally_frags, frags);
	opts.obj = skel->obj;
	opts.prog_name = frags ? "tally_frags" : "tally_host";
	prog = xdp_program__create(&opts);
	err = libxdp_get_error(prog);
	/* libbpf tells libxdp of the section's name after loading only. */
	if (!err && frags)
		err = xdp_program__set_xdp_frags_support(prog, true);
	if (!err) {
		err = xdp_program__attach(prog, status->ifindex,
					  to_libxdp(mode), 0);
	}
	if (!libxdp_get_error(prog))
		xdp_program__close(prog);
	tally_host__destroy(skel);
	return err;
}

/* The program that the device's packets need, then the other one. */
static int try_both(const struct xdp_status *status, bool frags,
		    enum xdp_mode mode, uint16_t port, char why[XDP_WHY_MAX])
{
	int err, second;

	err = try(status, mode, frags, port);
	if (err)
		say(why, err, "%s", said[0] ? said : strerror(-err));
	if (!err || err == -EPERM || err == -EBUSY || err == -EEXIST)
		return err;
	second = try(status, mode, !frags, port);
	return second ? err : 0;
}

static bool mode_refused(int err)
{
	return err == -EOPNOTSUPP || err == -EINVAL || err == -ERANGE;
}

/* May this device have it, and in which mode?  Return: 0 or -errno. */
static int check_room(const struct xdp_status *status, enum xdp_mode *mode,
		      char why[XDP_WHY_MAX])
{
	if (status->foreign_id)
		return say(why, -EBUSY, "program '%s' (id %u) is there and shares with no other; take it off (ip link set dev %s %s off), then load it again with xdp-loader, which shares",
			   status->foreign, status->foreign_id, status->dev,
			   status->mode == XDP_GENERIC ? "xdpgeneric" :
			   status->mode == XDP_OFFLOAD ? "xdpoffload" :
							 "xdpdrv");
	if (status->mode == XDP_NONE)
		return 0;
	if (status->mode == XDP_OFFLOAD ||
	    (*mode != XDP_AUTO && *mode != status->mode))
		return say(why, -EBUSY, "programs are there in %s mode, and a device has one mode; attach in that mode, or take them off first",
			   xdp_mode_name(status->mode));
	*mode = status->mode;
	return 0;
}

/* What a person should know of an attachment that succeeded. */
static void warn(const struct xdp_status *status, bool fell_back,
		 char why[XDP_WHY_MAX])
{
	why[0] = 0;
	if (!status->bound && !status->module)
		say(why, 0, "the module is not loaded, packets go to the socket; load it (modprobe tally), then attach again");
	else if (!status->bound)
		say(why, 0, "the module offers no functions to XDP, packets go to its socket; 'tally doctor' says why");
	else if (fell_back)
		say(why, 0, "the driver has no native XDP that fits; attached in generic mode, which is slower");
	else if (!status->shared)
		say(why, 0, "libxdp's dispatcher does not work here; no other program can be added to the device");
}

int xdp_attach(const char *dev, enum xdp_mode mode, uint16_t port,
	       struct xdp_status *status, char why[XDP_WHY_MAX])
{
	struct xdp_multiprog *mp;
	bool frags, fell_back = false;
	int err;

	err = look(dev, status, &mp, why);
	if (err)
		return err;
	frags = status->mtu > ONE_PAGE_MTU ||
		(mp && xdp_multiprog__xdp_frags_support(mp));
	xdp_multiprog__close(mp);
	err = check_room(status, &mode, why);
	if (!err)
		err = check_bpffs(why);
	if (err)
		return err;
	if (status->id && (status->bound || !status->module))
		return say(why, -EALREADY, "it is attached already");
	if (status->id) {
		err = xdp_detach(dev, why);
		if (err)
			return err;
	}

	err = try_both(status, frags, mode == XDP_AUTO ? XDP_NATIVE : mode,
		       port, why);
	if (mode == XDP_AUTO && mode_refused(err)) {
		fell_back = true;
		err = try_both(status, frags, XDP_GENERIC, port, why);
	}
	if (err)
		return mode_refused(err) ? -EOPNOTSUPP : err;
	err = look(dev, status, &mp, why);
	xdp_multiprog__close(mp);
	if (err)
		return err;
	if (!status->id)
		return say(why, -EIO, "attached, but not found afterwards; 'bpftool net' shows what is there");
	warn(status, fell_back, why);
	return 0;
}

int xdp_detach(const char *dev, char why[XDP_WHY_MAX])
{
	struct xdp_multiprog *mp;
	struct xdp_program *prog = NULL;
	struct xdp_status status;
	int err;

	err = look(dev, &status, &mp, why);
	if (err)
		return err;
	if (!status.id) {
		xdp_multiprog__close(mp);
		if (status.foreign_id)
			return say(why, -ENOENT, "tally's program is not there, but '%s' (id %u); take that off with: ip link set dev %s xdp off",
				   status.foreign, status.foreign_id, dev);
		return say(why, -ENOENT, "tally's program is not there; 'tally xdp status' lists where it is");
	}
	quiet();
	if (xdp_multiprog__is_legacy(mp)) {
		err = xdp_multiprog__detach(mp);
	} else {
		do
			prog = xdp_multiprog__next_prog(prog, mp);
		while (xdp_program__id(prog) != status.id);
		err = xdp_program__detach(prog, status.ifindex,
					  xdp_multiprog__attach_mode(mp), 0);
	}
	if (err)
		say(why, err, "%s", said[0] ? said : strerror(-err));
	xdp_multiprog__close(mp);
	return err;
}

int xdp_status(const char *dev, struct xdp_status *status,
	       char why[XDP_WHY_MAX])
{
	struct xdp_multiprog *mp;
	int err;

	err = look(dev, status, &mp, why);
	xdp_multiprog__close(mp);
	if (!err && status->id && !status->bound && status->module)
		say(why, 0, "the program was loaded before the module and does not call it; attach it again: tally xdp attach %s",
		    dev);
	return err;
}
