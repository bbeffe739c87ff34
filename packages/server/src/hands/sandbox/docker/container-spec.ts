import { ENVIRONMENT, memoryFileSystems, SANDBOX_HOSTNAME } from "../local/sandbox-layout.ts";
import type { SeccompProfile } from "../seccomp/seccomp-profile.ts";

/** A folder or file of the host, shown inside. */
export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly isWritable: boolean;
}

export interface ContainerSpec {
  readonly image: string;
  /** Of the engine; undefined for its default, which is runc. */
  readonly runtime: string | undefined;
  /** `UID:GID`, both of the host. */
  readonly user: string;
  readonly command: readonly string[];
  /** Of the environment, beside the usual ones. */
  readonly variables: Readonly<Record<string, string>>;
  readonly binds: readonly Bind[];
  readonly labels: Readonly<Record<string, string>>;
  readonly seccomp: SeccompProfile;
  readonly limits: {
    readonly memoryBytes?: number | undefined;
    readonly cpus?: number | undefined;
    readonly pids: number;
  };
}

const NANO = 1e9;
/** Where memory runs out, the kernel is to end a sandbox before a server. */
const OOM_SCORE = 500;
/** Docker's own, and all of `/sys`, which says much about the machine and nothing that a program needs. */
const MASKED = [
  ...["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats"],
  ...["/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys"],
];
const READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/**
 * The body of `POST /containers/create`: nothing but `lo`, no capability, nothing to be gained by another
 * program's rights, a root that cannot be written. Its input ends with the one who attached to it, and with
 * that the agent. Nothing of its output is kept by the engine.
 */
export function containerBody(spec: ContainerSpec): unknown {
  const { memoryBytes, cpus, pids } = spec.limits;
  return {
    Image: spec.image,
    User: spec.user,
    WorkingDir: "/workspace",
    Hostname: SANDBOX_HOSTNAME,
    Env: Object.entries({ ...ENVIRONMENT, ...spec.variables }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    Entrypoint: [],
    Cmd: spec.command,
    Labels: spec.labels,
    Healthcheck: { Test: ["NONE"] },
    Volumes: {},
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Tty: false,
    HostConfig: {
      NetworkMode: "none",
      IpcMode: "none",
      UsernsMode: "host",
      Init: false,
      Privileged: false,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges", `seccomp=${JSON.stringify(spec.seccomp)}`],
      ReadonlyRootfs: true,
      MaskedPaths: MASKED,
      ReadonlyPaths: READ_ONLY,
      RestartPolicy: { Name: "no" },
      LogConfig: { Type: "none" },
      OomScoreAdj: OOM_SCORE,
      PidsLimit: pids,
      ...(memoryBytes !== undefined && { Memory: memoryBytes, MemorySwap: memoryBytes }),
      ...(cpus !== undefined && { NanoCpus: Math.round(cpus * NANO) }),
      ...(spec.runtime !== undefined && { Runtime: spec.runtime }),
      Tmpfs: Object.fromEntries(
        memoryFileSystems(memoryBytes).map(({ path, bytes }) => [
          path,
          `rw,exec,nosuid,nodev,mode=1777,size=${bytes}`,
        ]),
      ),
      Mounts: spec.binds.map(({ source, target, isWritable }) => ({
        Type: "bind",
        Source: source,
        Target: target,
        ReadOnly: !isWritable,
        BindOptions: { Propagation: "rprivate" },
      })),
    },
  };
}
