import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RepositoryWorld } from "./repository-world.testsuite.ts";

const TOKEN = "canary-of-a-repository-token";

/** What holds for repositories in the sandboxes of either mode. */
export function testCloning(mode: string): void {
  describe(`repositories, ${mode}`, () => {
    let world: RepositoryWorld;
    beforeAll(async () => {
      world = await RepositoryWorld.open();
    });
    afterAll(() => world[Symbol.asyncDispose]());

    test("a private repository lies in the sandbox, whole and usable, and its token does not", async () => {
      const { server } = world;
      server.repository("acme/private", { "README.md": "one\n", "bin/tool": "#!/bin/sh\n" });
      server.commit("acme/private", { "README.md": "two\n" });
      server.git("acme/private", "branch", "other");
      server.tokens.set("acme/private", { takes: TOKEN });
      const session = await world.session({ name: "acme/private", token: TOKEN });
      expect(await session.prepare()).toEqual([]);
      expect(await session.bash("cd private && cat README.md && ls -A && ls -A /workspace")).toBe(
        "two\n.git\nREADME.md\nbin\nprivate",
      );
      expect(
        await session.bash(
          "git status --porcelain --branch; git log --format=%s | wc -l; git remote get-url origin; git branch -r; id -u; stat -c %u .git/config",
        ),
      ).toBe(
        [
          "## main...origin/main",
          "2",
          server.url("acme/private"),
          "  origin/HEAD -> origin/main",
          "  origin/main",
          "  origin/other",
          "1000",
          "1000",
        ].join("\n"),
      );
      // Also not of what is kept for the sandbox beside its files.
      const traces = `grep -rlE '${TOKEN}|${Buffer.from(TOKEN).toString("base64").slice(4, 24)}|3128' /workspace /mnt/session /tmp /proc/self/environ || true`;
      expect(await session.bash(traces)).toBe("");
      expect(server.requests.map(({ line }) => line)).toEqual([
        "GET /acme/private/info/refs?service=git-upload-pack",
        "POST /acme/private/git-upload-pack",
        "POST /acme/private/git-upload-pack",
      ]);
      expect(new Set(server.requests.map(({ authorization }) => authorization))).toEqual(
        new Set([`Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString("base64")}`]),
      );
      expect(world.isCloning(session.handId)).toBe(false);
      await session.bash("echo mine > README.md");
      expect(await session.prepare()).toEqual([]);
      expect([await session.bash("cat README.md"), server.requests.length]).toEqual(["mine", 3]);
    });

    test("a branch or a commit is checked out, where the session wants it", async () => {
      const { server } = world;
      const first = server.repository("acme/many", { file: "first\n" });
      server.git("acme/many", "checkout", "--quiet", "-b", "feature/one");
      server.commit("acme/many", { file: "on the branch\n" });
      server.git("acme/many", "checkout", "--quiet", "main");
      const lost = server.commit("acme/many", { file: "of no branch\n" });
      server.git("acme/many", "reset", "--quiet", "--hard", first);
      server.commit("acme/many", { file: "newest\n" });
      const at = (path: string) => `git -C ${path} rev-parse --abbrev-ref HEAD; cat ${path}/file`;
      const session = await world.session({
        name: "acme/many",
        checkout: { type: "branch", name: "feature/one" },
      });
      expect(await session.prepare()).toEqual([]);
      expect(await session.bash(at("many"))).toBe("feature/one\non the branch");
      expect(await session.bash("git -C many rev-parse --abbrev-ref '@{upstream}'")).toBe(
        "origin/feature/one",
      );
      const old = await world.session({
        name: "acme/many",
        mount_path: "/workspace/in/old",
        checkout: { type: "commit", sha: first },
      });
      expect(await old.prepare()).toEqual([]);
      expect(await old.bash(at("in/old"))).toBe("HEAD\nfirst");
      const unreachable = await world.session({
        name: "acme/many",
        checkout: { type: "commit", sha: lost },
      });
      expect(await unreachable.prepare()).toEqual([]);
      expect(await unreachable.bash(at("many"))).toBe("HEAD\nof no branch");
    });
  });
}
