import { expect, test } from "vitest";
import { cgroupLayout } from "./cgroup-layout.ts";

/** A line of mountinfo, without what does not matter here. */
function mount(folder: string, type: string, options: string, root = "/"): string {
  return `31 23 0:28 ${root} ${folder} rw,relatime shared:9 - ${type} ${type} rw,${options}`;
}

test("version 1, with a hierarchy for each controller or for several", () => {
  const membership =
    "4:memory:/user.slice\n3:cpu,cpuacct:/\n2:pids:/user.slice/a\n1:name=systemd:/x\n";
  const mountinfo = [
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
    mount("/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cpu,cpuacct"),
    mount("/sys/fs/cgroup/memory", "cgroup", "memory"),
    mount("/sys/fs/cgroup/pids", "cgroup", "pids"),
  ].join("\n");
  expect(cgroupLayout(membership, mountinfo)).toEqual({
    v1: {
      cpu: "/sys/fs/cgroup/cpu,cpuacct",
      memory: "/sys/fs/cgroup/memory/user.slice",
      pids: "/sys/fs/cgroup/pids/user.slice/a",
    },
  });
});

test("version 2, with the group above the own one", () => {
  const mountinfo = mount("/sys/fs/cgroup", "cgroup2", "nsdelegate");
  expect(cgroupLayout("0::/system.slice/drover.service/server\n", mountinfo)).toEqual({
    v1: {},
    v2: {
      own: "/sys/fs/cgroup/system.slice/drover.service/server",
      above: "/sys/fs/cgroup/system.slice/drover.service",
    },
  });
  expect(cgroupLayout("0::/\n", mountinfo)).toEqual({ v1: {}, v2: { own: "/sys/fs/cgroup" } });
});

test("both, each controller in one of them", () => {
  const mountinfo = [
    mount("/sys/fs/cgroup/memory", "cgroup", "memory"),
    mount("/sys/fs/cgroup/unified", "cgroup2", "nsdelegate"),
  ].join("\n");
  expect(cgroupLayout("2:memory:/a\n0::/a\n", mountinfo)).toEqual({
    v1: { memory: "/sys/fs/cgroup/memory/a" },
    v2: { own: "/sys/fs/cgroup/unified/a", above: "/sys/fs/cgroup/unified" },
  });
});

test("a container that sees only its own part", () => {
  const inside = mount("/sys/fs/cgroup/memory", "cgroup", "memory", "/docker/abc");
  expect(cgroupLayout("4:memory:/docker/abc/x\n", inside).v1.memory).toBe(
    "/sys/fs/cgroup/memory/x",
  );
  expect(cgroupLayout("4:memory:/docker/abc\n", inside).v1.memory).toBe("/sys/fs/cgroup/memory");
  const elsewhere = mount("/sys/fs/cgroup", "cgroup2", "", "/docker/abc");
  expect(cgroupLayout("0::/another\n", elsewhere).v2).toEqual({ own: "/sys/fs/cgroup" });
});

test("names with blanks, and no control groups at all", () => {
  const odd = mount("/mnt/control\\040groups", "cgroup2", "");
  expect(cgroupLayout("0::/\n", odd).v2?.own).toBe("/mnt/control groups");
  expect(cgroupLayout("", "")).toEqual({ v1: {} });
  expect(cgroupLayout("0::/a\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw")).toEqual({ v1: {} });
});
