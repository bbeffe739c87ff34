import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EngineClient } from "./engine-client.ts";
import { EngineDisks } from "./engine-disks.ts";

const SCRIPT = join(import.meta.dirname, "../../agent/engine-disk.pl");
/** Listens at a socket, with another folder in the place of the installation's. */
const LISTENER = `
use Socket;
system('mount', '-t', 'tmpfs', 'other', $ARGV[0]) == 0 or die 'mount';
socket my $socket, PF_UNIX, SOCK_STREAM, 0 or die "socket: $!";
bind $socket, pack_sockaddr_un($ARGV[1]) or die "bind: $!";
listen $socket, 5 or die "listen: $!";
syswrite STDOUT, "listening\\n";
1 while sysread STDIN, my $ignored, 4096;
`;

describe.skipIf(process.getuid?.() !== 0)("disks for an engine", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "drover-disks-"));
  });
  afterAll(async () => rm(folder, { recursive: true, force: true }));
  const find = (socketPath: string) =>
    new EngineDisks({
      folder: join(folder, "data"),
      diskBytes: 64 * 1024 * 1024,
      isRoot: true,
      mounts: { perlPath: "/usr/bin/perl", script: SCRIPT, socketPath },
      tried: async () => ({ engine: new EngineClient({ socketPath }), image: "none", labels: {} }),
    }).find();

  test("are none where it has other folders, and a hand begins without", async () => {
    const socketPath = join(folder, "socket");
    await mkdir(join(folder, "data"));
    const options = ["--mount", "perl", "-e", LISTENER, join(folder, "data"), socketPath];
    const listener = spawn("/usr/bin/unshare", options, { stdio: ["pipe", "pipe", "inherit"] });
    await once(listener.stdout, "data");
    try {
      const disks = await find(socketPath);
      expect(disks.refusal).toMatch(/the Docker Engine does not see the data folder$/);
      const path = join(folder, "hand");
      expect(disks.of({ path, writable: [join(path, "workspace")] })).toBeUndefined();
    } finally {
      listener.stdin.end();
      await once(listener, "exit");
    }
  });

  test("are none where none answers", async () => {
    const disks = await find(join(folder, "nobody"));
    expect(disks.refusal).toMatch(/the Docker Engine does not answer at .*nobody/);
  });
});
