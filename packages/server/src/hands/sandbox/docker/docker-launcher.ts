import { join, resolve } from "node:path";
import { type Outfit, SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { SKILLS_FOLDER } from "../../skills/skill-tree.ts";
import type { Controller } from "../cgroups/cgroup-layout.ts";
import type { SandboxDisks } from "../disk/sandbox-disks.ts";
import { type BaseFolders, writeBase } from "../local/base-files.ts";
import { UNCOUNTED_PROCESSES } from "../local/plan-limits.ts";
import { type LaunchRecord, recordLaunch, type SandboxRecord } from "../local/process-record.ts";
import type { LaunchRequest, SandboxLauncher } from "../local/sandbox-launcher.ts";
import {
  AGENT_FOLDER,
  agentCommand,
  PACKAGES_FOLDER,
  type SandboxLimits,
} from "../local/sandbox-layout.ts";
import { UPLOADS_FOLDER } from "../local/upload-tree.ts";
import { type SeccompProfile, seccompProfile } from "../seccomp/seccomp-profile.ts";
import { findSyscallTable } from "../seccomp/syscall-tables.ts";
import { containerRoot } from "./container-root.ts";
import { type Bind, containerBody } from "./container-spec.ts";
import { withTrust } from "./container-trust.ts";
import { withUsers } from "./container-users.ts";
import {
  HAND_LABEL,
  INSTALLATION_LABEL,
  LAUNCH_LABEL,
  PROVIDER_LABEL,
  removeContainer,
  strayContainers,
} from "./containers.ts";
import { DockerSandbox, end } from "./docker-sandbox.ts";
import type { RootImage } from "./empty-root.ts";
import { EngineClient, EngineRefusalError } from "./engine-client.ts";
import { EngineDisks } from "./engine-disks.ts";
import { type EngineFacts, engineFacts } from "./engine-facts.ts";
import { explainRefusal } from "./explain-refusal.ts";

export interface DockerLauncherOptions {
  /** Absolute: of the installation. */
  readonly dataFolder: string;
  readonly name: "docker" | "gvisor";
  /** Of the Docker Engine. */
  readonly socketPath: string;
  /** Of the engine, for gVisor. */
  readonly runtime?: string;
  /** With bash, perl and tar. By default sandboxes have the host's programs, and no registry is asked. */
  readonly image?: string;
  /** Whose containers are whose, where several installations use one engine. */
  readonly installation: () => Promise<string>;
  /** That on the disk is enforced where it can be; the others are those of each launch. */
  readonly limits: Partial<Pick<SandboxLimits, "diskBytes">> | undefined;
  readonly perlPath?: string;
  /** The folder of `agent.pl`, `enter.pl` and `engine-disk.pl`; by default the one in the sources. */
  readonly agentFolder?: string;
}

/**
 * gVisor's own threads and, for each process inside, a stand-in on each of them count too. Where there is
 * no room for one it ends at once, with the sandbox: so this limit is so high that its own, on what is
 * inside, is met first. Measured with two processors: 15 a process, and up to 31 where a fork bomb goes on for seconds.
 */
const GVISOR_PIDS = 32;
const REAP_MS = 15_000;

interface Prepared {
  readonly facts: EngineFacts;
  readonly seccomp: SeccompProfile;
  readonly folders: BaseFolders;
  readonly installation: string;
}

interface Root {
  readonly image: string;
  readonly binds: readonly Bind[];
}

/** Sandboxes that are containers of a Docker Engine, by runc or by gVisor. */
export class DockerLauncher implements SandboxLauncher {
  readonly name: "docker" | "gvisor";
  readonly mode: "root" | "rootless";
  /** A virtual machine that shares folders of a Mac with its engine does so by their names. */
  readonly followsRenames = process.platform === "linux";
  readonly #options: DockerLauncherOptions;
  readonly #dataFolder: string;
  readonly #agentFolder: string;
  readonly #runtime: string;
  readonly #engine: EngineClient;
  /** Launches that are this process's own. */
  readonly #own = new Set<string>();
  /** To be removed when the engine can be asked again. */
  readonly #left = new Set<string>();
  readonly #onLeft = (container: string) => void this.#left.add(container);
  #prepared: Promise<Prepared> | undefined;
  #facts: EngineFacts | undefined;
  readonly #disks: EngineDisks;

  constructor(options: DockerLauncherOptions) {
    this.#options = options;
    this.name = options.name;
    // The engine of a Mac is in a virtual machine, which knows no user of the Mac's.
    this.mode = process.getuid?.() === 0 && process.platform === "linux" ? "root" : "rootless";
    this.#dataFolder = resolve(options.dataFolder);
    this.#agentFolder = options.agentFolder ?? join(import.meta.dirname, "../../agent");
    this.#runtime = options.name === "docker" ? "runc" : (options.runtime ?? "runsc");
    this.#engine = new EngineClient({ socketPath: options.socketPath });
    this.#disks = new EngineDisks({
      folder: join(this.#dataFolder, "sandbox-base", this.name),
      diskBytes: options.limits?.diskBytes,
      isRoot: this.mode === "root",
      mounts: { ...this.#script("engine-disk.pl"), socketPath: options.socketPath },
      tried: async () => {
        await this.prepare();
        const prepared = await this.#made();
        const { image } = await this.#root(prepared, undefined);
        const labels = { [INSTALLATION_LABEL]: prepared.installation, [PROVIDER_LABEL]: this.name };
        return { engine: this.#engine, image, labels };
      },
    });
  }

  async prepare(): Promise<void> {
    this.#prepared ??= this.#prepare();
    try {
      this.#facts = (await this.#prepared).facts;
    } catch (error) {
      this.#prepared = undefined;
      throw explainRefusal(error);
    }
  }

  can(controller: Controller): boolean {
    return this.#facts?.canLimit[controller] ?? false;
  }

  disks(): Promise<SandboxDisks> {
    return this.#disks.find();
  }

  async launch(request: LaunchRequest, signal: AbortSignal): Promise<DockerSandbox> {
    await this.prepare();
    const prepared = await this.#made();
    const { hasExit, folder, limits } = request;
    if (hasExit) this.#checkExit(prepared.facts);
    this.#removeLeft();
    const root = await this.#root(prepared, request.outfit).catch((error: unknown) => {
      throw explainRefusal(error);
    });
    const disk = this.#disks.of(request);
    const record: LaunchRecord = {
      ...{ ...recordLaunch(), provider: this.name },
      ...(disk && { mount: folder.stage }),
    };
    this.#own.add(record.launch_id);
    const { memoryBytes, processes } = limits;
    const sandbox = await DockerSandbox.start(
      {
        engine: this.#engine,
        onLeft: this.#onLeft,
        handFolder: folder.path,
        record,
        body: this.#body({ ...prepared, ...root }, request, record),
        limits: {
          ...(memoryBytes !== undefined && { memoryBytes }),
          ...(this.name === "docker" && { processes }),
        },
        exit: hasExit ? this.#script("enter.pl") : undefined,
        disk,
      },
      signal,
    ).catch((error: unknown) => {
      this.#own.delete(record.launch_id);
      throw error;
    });
    const forget = () => this.#own.delete(record.launch_id);
    sandbox.exited.then(forget, forget);
    return sandbox;
  }

  async endRecorded(record: SandboxRecord, deadlineMs: number): Promise<void> {
    if (!("launch_id" in record)) throw new Error("a container without a launch");
    await end({ engine: this.#engine, onLeft: this.#onLeft }, record, deadlineMs);
    if (record.mount !== undefined) await this.#disks.clear(record.mount);
  }

  async reap(): Promise<void> {
    const installation = await this.#options.installation();
    const stray = await strayContainers(
      this.#engine,
      { installation, provider: this.name },
      this.#own,
    );
    await Promise.all(stray.map((id) => removeContainer(this.#engine, id, REAP_MS)));
  }

  #script(name: string): { readonly perlPath: string; readonly script: string } {
    const perlPath = this.#options.perlPath ?? "/usr/bin/perl";
    return { perlPath, script: join(this.#agentFolder, name) };
  }

  async #made(): Promise<Prepared> {
    const prepared = await this.#prepared;
    if (prepared === undefined) throw new Error("the engine was not prepared");
    return prepared;
  }

  /** Nobody waits for it: their processes are gone, and an engine may be at one of them for ever. */
  #removeLeft(): void {
    for (const container of this.#left) {
      this.#left.delete(container);
      removeContainer(this.#engine, container, REAP_MS).catch(() => this.#onLeft(container));
    }
  }

  #checkExit(facts: EngineFacts): void {
    if (this.mode !== "root") {
      throw new SandboxUnavailableError(
        "a container's network can be given a way out by root on the engine's own machine only: here sandboxes of this provider can have no network (DROVER_SANDBOX_NETWORK=none)",
      );
    }
    if (!facts.hasKernelNetwork) {
      throw new SandboxUnavailableError(
        `the runtime ${this.#runtime} has a network stack of its own, into which no way out can be made: give it \`--network=host\` in \`runtimeArgs\` of daemon.json (its containers still have no network but their own)`,
      );
    }
  }

  #body(prepared: Prepared & Root, request: LaunchRequest, record: LaunchRecord): unknown {
    const { folder, trees, uid, limits, handId, outfit } = request;
    const user =
      uid === undefined
        ? `${process.getuid?.() ?? 1000}:${process.getgid?.() ?? 1000}`
        : `${uid}:${uid}`;
    const shown = (source: string, target: string, isWritable = false): Bind => ({
      ...{ source, target, isWritable },
    });
    const isOnDisk = request.disk !== undefined;
    const place = isOnDisk ? folder.stage : folder.path;
    return containerBody({
      image: prepared.image,
      runtime: this.#runtime,
      user,
      variables: { ...request.variables, ...outfit?.variables },
      command: agentCommand(
        { ...limits, processes: this.#insideProcesses(request) },
        record.launch_id,
      ),
      binds: [
        ...withTrust(
          withUsers(prepared.binds, {
            ...{ handFolder: folder.path, user },
            hasPlaces: outfit?.root === undefined,
          }),
          trees.trust,
          outfit?.root ?? (this.#options.image === undefined ? "/" : undefined),
        ),
        shown(join(place, "workspace"), "/workspace", true),
        shown(join(place, "outputs"), "/mnt/session/outputs", true),
        shown(join(place, "spill"), "/mnt/session/.spill", true),
        shown(trees.uploads, UPLOADS_FOLDER),
        ...(trees.skills === undefined ? [] : [shown(trees.skills, SKILLS_FOLDER)]),
        ...(trees.memory ?? []).map(({ name, folder: store, mount_path, isWritable }) =>
          shown(isOnDisk && isWritable ? join(place, name) : store, mount_path, isWritable),
        ),
      ],
      labels: {
        [INSTALLATION_LABEL]: prepared.installation,
        [PROVIDER_LABEL]: this.name,
        [HAND_LABEL]: handId,
        [LAUNCH_LABEL]: record.launch_id,
      },
      seccomp: prepared.seccomp,
      limits: {
        memoryBytes: limits.memoryBytes,
        cpus: limits.cpus,
        pids: this.name === "gvisor" ? limits.processes * GVISOR_PIDS : limits.processes,
      },
    });
  }

  /**
   * What each process inside carries; 0 where its user has processes that are not the sandbox's. With a
   * kernel of its own that is the limit; with the machine's it is the group's, which must be met first.
   */
  #insideProcesses({ uid, limits }: LaunchRequest): number {
    if (uid === undefined) return 0;
    const isCounted = this.name === "docker" && this.can("pids");
    return isCounted ? limits.processes + UNCOUNTED_PROCESSES : limits.processes;
  }

  async #prepare(): Promise<Prepared> {
    const table = findSyscallTable(process.arch);
    if (!table) throw new SandboxUnavailableError(`there is no seccomp list for ${process.arch}`);
    const facts = await engineFacts(this.#engine, this.#runtime);
    const script = join(this.#agentFolder, "agent.pl");
    const folders = writeBase(join(this.#dataFolder, "sandbox-base"), script);
    const seccomp = seccompProfile(table, { emulator: this.name === "gvisor" });
    return { facts, folders, seccomp, installation: await this.#options.installation() };
  }

  /** The image, and what is shown on it read-only. */
  async #root({ folders: { etc, agent } }: Prepared, outfit: Outfit | undefined): Promise<Root> {
    if (outfit?.workshop !== undefined) {
      throw new Error(`packages are installed in sandboxes of bubblewrap, not of ${this.name}`);
    }
    const shown = (source: string, target: string): Bind => ({
      ...{ source, target, isWritable: false },
    });
    const layers = Object.entries(outfit?.layers ?? {});
    const common = [
      shown(agent, AGENT_FOLDER),
      ...layers.map(([name, folder]) => shown(folder, `${PACKAGES_FOLDER}/${name}`)),
    ];
    const { image } = this.#options;
    if (image !== undefined && outfit?.root === undefined) {
      // They were installed with the programs of this machine.
      if (layers.length > 0) {
        throw new SandboxUnavailableError(
          "packages of environments cannot be added to the image of DROVER_DOCKER_IMAGE: set DROVER_SANDBOX_BASE to a base made by `drover base build` instead",
        );
      }
      const names = ["hosts", "hostname", "resolv.conf"];
      return {
        image,
        binds: [...names.map((name) => shown(join(etc, name), `/etc/${name}`)), ...common],
      };
    }
    const root = containerRoot(etc, outfit?.root);
    await this.#provideImage(root.image);
    const binds = root.binds.map(({ source, target }) => shown(source, target));
    return { image: root.image.name, binds: [...binds, ...common] };
  }

  async #provideImage({ name, tar }: RootImage): Promise<void> {
    try {
      await this.#engine.ask({ method: "GET", path: `/images/${name}/json` });
    } catch (error) {
      if (!(error instanceof EngineRefusalError && error.status === 404)) throw error;
      const [repo, tag] = name.split(":");
      const path = `/images/create?fromSrc=-&repo=${repo}&tag=${tag}`;
      await this.#engine.ask({ method: "POST", path, tar });
    }
  }
}
