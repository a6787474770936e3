// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally xdp attach|detach|status */
#include "args.h"
#include "net.h"
#include "print.h"
#include "xdp.h"

#include <tally/wire.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The port that the module listens on here, or the usual one. */
static uint16_t module_port(struct cli *cli)
{
	struct tally_info info = { .size = sizeof(info) };

	return cli->info(&info) ? TALLY_PORT : (uint16_t)info.out_port;
}

static const char *remedy(int error)
{
	switch (error) {
	case ENODEV:
		return "'ip link' lists the devices";
	case EPERM:
	case EACCES:
		return "run this as root";
	case EBUSY:
		return "detach the other program first: ip link set dev DEVICE xdp off";
	case EOPNOTSUPP:
		return "try: tally xdp attach DEVICE generic";
	case ENOENT:
		return "'tally xdp status' lists what is attached";
	default:
		return "'tally doctor' looks for causes";
	}
}

/* @why: from libxdp's side, one line; may tell a remedy itself */
static int refused(struct cli *cli, const char *verb, const char *dev,
		   int error, const char *why)
{
	if (strchr(why, ';'))
		return cli_error(cli, "xdp %s %s: %s", verb, dev, why);
	return cli_error(cli, "xdp %s %s: %s; %s", verb, dev,
			 *why ? why : strerror(-error), remedy(-error));
}

int cmd_xdp_attach(struct cli *cli, int argc, char **argv)
{
	enum xdp_mode mode = XDP_AUTO;
	char why[XDP_WHY_MAX] = "";
	struct xdp_status status;
	int ret;

	ret = args_count(cli, argc, 1, 2,
			 "xdp attach DEVICE [native|generic|auto]");
	if (ret)
		return ret;
	if (argc == 2 && xdp_mode_parse(argv[1], &mode))
		return cli_usage(cli, "xdp attach %s: '%s' is no mode; it must be native, generic or auto",
				 argv[0], argv[1]);
	ret = xdp_attach(argv[0], mode, module_port(cli), &status, why);
	/* What is wished for is there. */
	if (ret && ret != -EALREADY)
		return refused(cli, "attach", argv[0], ret, why);
	if (!ret && *why)
		cli_warn(cli, "xdp attach %s: %s", argv[0], why);
	return CLI_OK;
}

int cmd_xdp_detach(struct cli *cli, int argc, char **argv)
{
	char why[XDP_WHY_MAX] = "";
	int ret;

	ret = args_count(cli, argc, 1, 1, "xdp detach DEVICE");
	if (ret)
		return ret;
	ret = xdp_detach(argv[0], why);
	if (ret)
		return refused(cli, "detach", argv[0], ret, why);
	if (*why)
		cli_warn(cli, "xdp detach %s: %s", argv[0], why);
	return CLI_OK;
}

static void add_status(cJSON *array, const struct xdp_status *s)
{
	cJSON *o = cJSON_CreateObject(), *c;

	cJSON_AddStringToObject(o, "device", s->dev);
	print_add_u64(o, "mtu", s->mtu);
	cJSON_AddStringToObject(o, "mode", xdp_mode_name(s->mode));
	if (s->id) {
		print_add_u64(o, "id", s->id);
		cJSON_AddStringToObject(o, "program", s->name);
		cJSON_AddBoolToObject(o, "module", s->bound);
		cJSON_AddBoolToObject(o, "frags", s->frags);
	}
	print_add_u64(o, "others", s->others);
	if (s->foreign_id)
		cJSON_AddStringToObject(o, "foreign", s->foreign);
	if (s->id) {
		c = cJSON_AddObjectToObject(o, "verdicts");
#define ADD(n, text)						\
		do {						\
			if (s->counters.n)			\
				print_add_u64(c, #n, s->counters.n); \
		} while (0);
		TALLY_VERDICTS(ADD)
#undef ADD
	}
	cJSON_AddItemToArray(array, o);
}

/* @all: devices without a program too */
static int add_device(struct cli *cli, cJSON *array, const char *dev, bool all)
{
	char why[XDP_WHY_MAX] = "";
	struct xdp_status status;
	int ret;

	memset(&status, 0, sizeof(status));
	ret = xdp_status(dev, &status, why);
	if (ret)
		return refused(cli, "status", dev, ret, why);
	if (*why)
		cli_warn(cli, "xdp status %s: %s", dev, why);
	if (all || status.id || status.foreign_id || status.mode != XDP_NONE)
		add_status(array, &status);
	return CLI_OK;
}

static void show_status(FILE *out, const cJSON *devices)
{
	static const struct column columns[] = {
		{ "device", "DEVICE", PRINT_TEXT, 0 },
		{ "mtu", "MTU", PRINT_TEXT, true },
		{ "mode", "MODE", PRINT_TEXT, 0 },
		{ "program", "PROGRAM", PRINT_TEXT, 0 },
		{ "id", "ID", PRINT_TEXT, true },
		{ "module", "MODULE", PRINT_YES, 0 },
		{ "frags", "FRAGS", PRINT_YES, 0 },
		{ "others", "OTHERS", PRINT_TEXT, true },
		{ "foreign", "FOREIGN", PRINT_TEXT, 0 },
		{ 0 }
	};
	static const struct print_counter verdicts[] = {
#define TEXT(n, t) { #n, t },
		TALLY_VERDICTS(TEXT)
#undef TEXT
		{ 0 }
	};
	const cJSON *d, *v;

	if (!cJSON_GetArraySize(devices)) {
		fputs("no XDP program on any device here; attach one with: tally xdp attach DEVICE\n",
		      out);
		return;
	}
	print_table(out, 0, devices, columns);
	cJSON_ArrayForEach(d, devices) {
		v = cJSON_GetObjectItem(d, "verdicts");
		if (!cJSON_GetArraySize(v))
			continue;
		fprintf(out, "\n%s, packets:\n",
			cJSON_GetObjectItem(d, "device")->valuestring);
		print_counters(out, 2, v, verdicts, 0);
	}
}

int cmd_xdp_status(struct cli *cli, int argc, char **argv)
{
	struct link *links = NULL;
	cJSON *tree, *array;
	size_t nr = 0, i;
	int ret;

	ret = args_count(cli, argc, 0, 1, "xdp status [DEVICE]");
	if (ret)
		return ret;
	tree = cJSON_CreateObject();
	array = cJSON_AddArrayToObject(tree, "devices");
	if (argc) {
		ret = add_device(cli, array, argv[0], true);
	} else {
		ret = net_need(cli);
		if (!ret && cli->net->links(cli->net, &links, &nr))
			ret = cli_error(cli, "devices cannot be read; 'tally doctor' looks for causes");
		for (i = 0; !ret && i < nr; i++)
			if (links[i].xdp)
				ret = add_device(cli, array, links[i].name,
						 false);
		free(links);
	}
	if (!ret && cli->json)
		ret = print_json(cli, tree, false);
	else if (!ret)
		show_status(cli->out, array);
	cJSON_Delete(tree);
	return ret;
}
