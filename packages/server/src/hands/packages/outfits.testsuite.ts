import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxBase } from "../../core/ports/hands.ts";
import { PUBLIC } from "../egress/outside.testsuite.ts";
import type { PackagesWorld } from "./packages-world.testsuite.ts";
import { PACKAGE, Registries, SAID, VERSION } from "./registries.testsuite.ts";

const PROGRAMS = ["bash", "perl", "cat", "id", "touch"].map((name) => `/usr/bin/${name}`);
const INSTALL_MS = 60_000;

/** Bases and packages of environments, for whoever did not make them; run for every such provider. */
export function testOutfits(name: string, open: () => Promise<PackagesWorld>): void {
  describe(`bases and packages of ${name}`, () => {
    let world: PackagesWorld;
    let registries: Registries;
    beforeAll(async () => {
      world = await open();
      registries = await Registries.openPip();
      await world.outside.serve(PUBLIC, 80, registries.server);
    });
    afterAll(async () => {
      registries[Symbol.dispose]();
      await world[Symbol.asyncDispose]();
    });

    test(
      "are installed once, shown read-only, and nobody else's",
      async () => {
        const packages = { pip: [`${PACKAGE}==${VERSION}`] };
        const change = "touch /opt/packages/pip/x 2>/dev/null || echo kept; hello-pip";
        expect(await world.run(change, packages)).toBe(`kept\n${SAID}\n`);
        const asked = registries.asked.length;
        expect(await world.run("hello-pip", packages)).toBe(`${SAID}\n`);
        expect(registries.asked.length).toBe(asked);
        expect(await world.run("hello-pip 2>/dev/null || echo absent", {})).toBe("absent\n");
      },
      INSTALL_MS,
    );

    test("have the programs of the base, which no sandbox can change, and none of the host's", async () => {
      const base = await makeRoot(join(world.folder, "root"));
      const inside = [
        "cat /etc/of-the-base /opt/brought/file; id -un; id -u; echo /* /opt/*",
        "touch /usr/bin/x /etc/x /x /opt/brought/x 2>/dev/null || echo read-only",
        "test -e /usr/bin/python3 || echo 'nothing of the host'",
        "echo written >/workspace/file && cat /workspace/file; cat /etc/hosts",
      ];
      const said = (await world.run(inside.join("; "), {}, { base })).split("\n");
      const [uid] = said.splice(3, 1);
      expect(said).toEqual([
        ...["the base", "brought", "sandbox"],
        "/bin /dev /etc /lib /lib64 /mnt /opt /proc /run /sys /tmp /usr /var /workspace /opt/brought",
        ...["read-only", "nothing of the host", "written"],
        ...["127.0.0.1 localhost sandbox", "::1 localhost", ""],
      ]);
      expect(Number(uid)).toBeGreaterThan(65_536);
    });

    test("are refused, and never replaced by others, where the base lacks what is needed", async () => {
      const base = { type: "directory", path: join(world.folder, "bare") } as const;
      await mkdir(join(base.path, "etc"), { recursive: true });
      await expect(world.run("true", {}, { base })).rejects.toThrow("has no file etc/resolv.conf");
      await writeFile(join(base.path, "etc/resolv.conf"), "");
      await expect(world.run("true", {}, { base })).rejects.toThrow("has no file /etc/hosts");
    });
  });
}

/** As small a root file system as the agent needs, made of this machine's programs. */
async function makeRoot(path: string): Promise<SandboxBase> {
  const linked = PROGRAMS.flatMap((program) =>
    [
      ...execFileSync("/usr/bin/ldd", [program], { encoding: "utf8" }).matchAll(/(\/\S+) \(0x/g),
    ].map(([, library = ""]) => library),
  );
  const libraries = execFileSync(
    "/usr/bin/perl",
    ["-e", "print join qq(\\n), grep { m{/perl-base$} } @INC"],
    {
      encoding: "utf8",
    },
  );
  const wanted = [...PROGRAMS, ...new Set(linked), ...libraries.split("\n")];
  for (const source of wanted) {
    // `/lib` and `/lib64` are links into `/usr`, as on every machine that has them.
    const target = join(path, source.replace(/^\/(?=lib)/, "/usr/"));
    await mkdir(dirname(target), { recursive: true });
    execFileSync("cp", ["-rL", "--", source, target]);
  }
  for (const name of ["bin", "lib", "lib64"]) {
    await mkdir(join(path, "usr", name), { recursive: true });
    execFileSync("ln", ["-s", `usr/${name}`, join(path, name)]);
  }
  for (const name of ["etc", "opt/brought", "var/tmp", "run", "tmp"]) {
    await mkdir(join(path, name), { recursive: true });
  }
  const files = {
    "etc/of-the-base": "the base\n",
    "opt/brought/file": "brought\n",
    "etc/passwd": "",
  };
  const names = ["hosts", "hostname", "resolv.conf", "group"].map((name) => [`etc/${name}`, ""]);
  for (const [name = "", content = ""] of [...Object.entries(files), ...names]) {
    await writeFile(join(path, name), content);
  }
  execFileSync("chmod", ["-R", "a+rX", path]);
  await chmod(path, 0o755);
  return { type: "directory", path };
}
