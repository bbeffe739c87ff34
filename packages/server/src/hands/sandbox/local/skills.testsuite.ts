import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SkillMount } from "../../../core/ports/hands.ts";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { zipBytes } from "../../../lib/archive/archive-bytes.testsuite.ts";
import type { FailPoint } from "../../../lib/fail-point.ts";
import type { ProviderWorld } from "./installation-world.ts";
import { endedBy, startOwner } from "./owner-process.testsuite.ts";

/** Makes a sandbox with the skill, and dies at a point on the way. */
const OWNER = `
const [mount, name] = args;
armFailPoint({ name, nth: 1 });
const mounts = [JSON.parse(mount)];
await provider.provision({ workspaceId: "w", handId: "hand_dying", recipe: { ...recipe, mounts } }, signal);
`;

const DOCUMENT = "---\nname: greet\ndescription: Greets.\n---\nRun scripts/hello.\n";
const GREET = zipBytes([
  { name: "greet/SKILL.md", content: DOCUMENT },
  { name: "greet/scripts/hello", content: "#!/bin/sh\necho hello $1\n", mode: 0o100755 },
  { name: "greet/data/plain.txt", content: "plain" },
]);

/** Where a process dies that unpacks one, whoever makes the sandbox. */
const POINTS: readonly FailPoint[] = [
  "hands.skill.before_file",
  "hands.skill.after_extract",
  "hands.skill.after_publish",
  "hands.provision.after_folder",
];

/** What holds of the skills in a sandbox. Run for every provider. */
export function testSkills(
  title: string,
  open: () => Promise<ProviderWorld>,
  points: readonly FailPoint[] = POINTS,
): void {
  describe(`skills in a sandbox (${title})`, () => {
    let world: ProviderWorld;
    let greet: SkillMount;
    beforeAll(async () => {
      world = await open();
      greet = await world.skill("greet", GREET);
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    test("are read and run where they are mounted", async () => {
      await using box = await startOn(world.provider, { mounts: [greet] });
      expect(await box.readText("/mnt/skills/greet/SKILL.md")).toBe(DOCUMENT);
      expect((await box.sh("/mnt/skills/greet/scripts/hello you")).output).toBe("hello you\n");
      expect((await box.sh("cd /mnt/skills; echo *; cat greet/data/plain.txt")).output).toBe(
        "greet\nplain",
      );
      expect((await box.sh("/mnt/skills/greet/data/plain.txt")).exitCode).toBe(126);
    });

    test("cannot be written by any way there is inside", async () => {
      await using box = await startOn(world.provider, { mounts: [greet] });
      const ways = [
        "echo spoilt > /mnt/skills/greet/SKILL.md",
        "rm -f /mnt/skills/greet/SKILL.md",
        "touch /mnt/skills/greet/new",
        "mkdir /mnt/skills/other",
        "chmod 777 /mnt/skills/greet/SKILL.md",
        "mv /mnt/skills/greet /mnt/skills/moved",
        "ln /mnt/skills/greet/SKILL.md /workspace/linked",
        "perl -e 'open(F, q(+<), q(/mnt/skills/greet/SKILL.md)) or exit 1'",
        "perl -e 'truncate(q(/mnt/skills/greet/SKILL.md), 0) or exit 1'",
      ];
      for (const way of ways) expect([way, (await box.sh(way)).exitCode]).not.toEqual([way, 0]);
      const write = box.sandbox.write("/mnt/skills/greet/SKILL.md", Buffer.from("spoilt"));
      await expect(write).rejects.toThrow();
      expect(await box.readText("/mnt/skills/greet/SKILL.md")).toBe(DOCUMENT);
    });

    test("are unpacked once for all sandboxes, and are still there in the hand's next one", async () => {
      await using one = await startOn(world.provider, { mounts: [greet], hand: "hand_sharing" });
      await using two = await startOn(world.provider, { mounts: [greet] });
      const inode = "perl -e 'print +(stat q(/mnt/skills/greet/SKILL.md))[1]'";
      const { output } = await one.sh(inode);
      expect(output).toMatch(/^\d+$/);
      expect((await two.sh(inode)).output).toBe(output);
      await one.sandbox.close();
      await using again = await startOn(world.provider, { mounts: [greet], hand: "hand_sharing" });
      expect((await again.sh("/mnt/skills/greet/scripts/hello again")).output).toBe(
        "hello again\n",
      );
      await using other = await startOn(world.provider, { hand: "hand_without" });
      expect((await other.sh("test -e /mnt/skills")).exitCode).not.toBe(0);
    });

    test("stop the sandbox with a sentence when their archive is not what an upload may be", async () => {
      const link = zipBytes([
        { name: "evil/SKILL.md", content: DOCUMENT },
        { name: "evil/passwd", content: "/etc/passwd", mode: 0o120777 },
      ]);
      const mounts = [greet, await world.skill("evil", link)];
      await expect(startOn(world.provider, { mounts })).rejects.toThrow(
        "the skill evil cannot be unpacked",
      );
      const gone = { ...greet, sha256: "0".repeat(64) };
      await expect(startOn(world.provider, { mounts: [gone] })).rejects.toThrow(
        "the files of the skill greet cannot be had",
      );
      await using box = await startOn(world.provider, { mounts: [greet] });
      expect((await box.sh("true")).exitCode).toBe(0);
    });

    test.each(points)("are whole after a process that died at %s", async (point) => {
      const owner = startOwner(world, { script: OWNER, args: [JSON.stringify(greet), point] });
      expect(await endedBy(owner)).toBe("SIGKILL");
      const next = world.another();
      await next.reap();
      expect(readdirSync(world.folder)).not.toContain("skill-cache");
      await using box = await startOn(next, { mounts: [greet], hand: "hand_dying" });
      const { output } = await box.sh(
        "cd /mnt/skills; find . -type f | sort; greet/scripts/hello x",
      );
      expect(output.split("\n")).toEqual([
        "./greet/SKILL.md",
        "./greet/data/plain.txt",
        "./greet/scripts/hello",
        "hello x",
        "",
      ]);
    });
  });
}
