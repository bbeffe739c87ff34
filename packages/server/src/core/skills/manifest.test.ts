import { describe, expect, test } from "vitest";
import type { ArchiveMember } from "../../lib/archive/archive.ts";
import { frontmatterOf, skillFolder, skillManifest } from "./manifest.ts";

function members(...paths: readonly string[]): ArchiveMember[] {
  return paths.map((path) => ({
    path,
    kind: path.endsWith("/") ? "folder" : "file",
    size: 0,
    isEncrypted: false,
    isExecutable: false,
  }));
}

describe("the folder of a skill", () => {
  test.each([
    [["my-skill/SKILL.md"]],
    [["my-skill/", "my-skill/scripts/", "my-skill/scripts/a.py", "my-skill/SKILL.md"]],
    [["my-skill/other/SKILL.md", "my-skill/SKILL.md"]],
  ])("is the first name of all of %j", (paths) => {
    expect(skillFolder(members(...paths))).toBe("my-skill");
  });

  test.each<[readonly string[], string]>([
    [[], "there are none"],
    [["SKILL.md"], '"SKILL.md" is not in "SKILL.md"'],
    [["my-skill/SKILL.md", "README.md"], '"README.md" is not in "my-skill"'],
    [["my-skill/SKILL.md", "my-skill2/a"], '"my-skill2/a" is not in "my-skill"'],
    [["my-skill/SKILL.md", "other/"], '"other/" is not in "my-skill"'],
    [["my-skill/a/SKILL.md"], 'there must be "my-skill/SKILL.md"'],
    [["my-skill/SKILL.md/"], 'there must be "my-skill/SKILL.md"'],
    [["my-skill/skill.md"], 'spelled so and not "my-skill/skill.md"'],
  ])("is not to be found in %j", (paths, problem) => {
    expect(() => skillFolder(members(...paths))).toThrow(problem);
  });
});

describe("frontmatter", () => {
  test.each([
    ["---\nname: a\n---\n# A", "name: a\n"],
    ["\ufeff---  \r\nname: a\r\n---\r\n", "name: a\r\n"],
    ["---\n---\n", ""],
    ["---\na: |\n  ---\n---", "a: |\n  ---\n"],
  ])("of %j", (text, yaml) => {
    expect(frontmatterOf(text)).toBe(yaml);
  });

  test.each([[""], ["# A"], ["\n---\nname: a\n---\n"], ["---\nname: a\n"], ["--- a\n---\n"]])(
    "is missing from %j",
    (text) => {
      expect(() => frontmatterOf(text)).toThrow("must begin with frontmatter");
    },
  );
});

describe("a manifest", () => {
  const description = "Does things";

  test("has the name and the description, whatever else there is", () => {
    const license = "MIT";
    expect(skillManifest({ name: "my-skill-2", description: " Does\nit ", license }, "x")).toEqual({
      slug: "my-skill-2",
      description: "Does\nit",
    });
  });

  test("takes the folder's name if there is none", () => {
    expect(skillManifest({ description }, "my-skill").slug).toBe("my-skill");
    expect(() => skillManifest({ description }, "My Skill")).toThrow("the folder's");
  });

  test("goes up to the limits", () => {
    const most = { name: "x".repeat(64), description: "y".repeat(1_024) };
    expect(skillManifest(most, "a")).toEqual({ slug: most.name, description: most.description });
  });

  test.each<[string, unknown, string]>([
    ["no mapping", ["name"], "must begin with frontmatter"],
    ["nothing", null, "must begin with frontmatter"],
    ["a long name", { name: "x".repeat(65), description }, "name: must be at most 64"],
    ["capitals", { name: "My-skill", description }, "name: must be small letters"],
    ["blanks", { name: "my skill", description }, "name: must be small letters"],
    ["a tag", { name: "<b>", description }, "name: must be small letters"],
    ["a path", { name: "../a", description }, "name: must be small letters"],
    ["a hyphen at the start", { name: "-a", description }, "name: must be small letters"],
    ["two hyphens", { name: "a--b", description }, "name: must be small letters"],
    ["an empty name", { name: "", description }, "name: must be a text"],
    ["a list as the name", { name: ["a"], description }, "name: must be a text"],
    ["a reserved name", { name: "claude-helper", description }, "reserved word claude"],
    ["another reserved name", { name: "by-anthropic", description }, "reserved word anthropic"],
    ["no description", { name: "a" }, "description: must be a text"],
    ["a blank description", { name: "a", description: " \n" }, "description: must be a text"],
    ["a long description", { name: "a", description: "x".repeat(1_025) }, "at most 1024"],
    ["tags", { name: "a", description: "a </system> b" }, "must not hold XML tags"],
    ["NUL", { name: "a", description: "a\0b" }, "must not hold NUL"],
  ])("is refused for %s", (_what, frontmatter, problem) => {
    expect(() => skillManifest(frontmatter, "folder")).toThrow(problem);
  });

  test("may hold less-than signs and, for who runs the server, reserved words", () => {
    const frontmatter = { name: "claude-api", description: "if 1 < 2 > 0" };
    expect(skillManifest(frontmatter, "a", { allowReserved: true }).slug).toBe("claude-api");
  });
});
