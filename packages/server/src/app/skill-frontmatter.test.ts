import { expect, test } from "vitest";
import { parseFrontmatter } from "./skill-frontmatter.ts";

const read = (yaml: string) => parseFrontmatter(`---\n${yaml}\n---\n# Text`);

test("reads every scalar as the text that it is", () => {
  expect(read('name: 2024\ndescription: yes\nempty:\nfolded: >\n  a\n  b\nlist: [1, "2"]')).toEqual(
    {
      name: "2024",
      description: "yes",
      empty: "",
      folded: "a b\n",
      list: ["1", "2"],
    },
  );
});

test.each([
  ["an alias", "a: &a x\nb: *a"],
  [
    "a bomb of aliases",
    `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi".replaceAll(
      /./g,
      (name) =>
        `${name}: &${name} [${Array(9).fill(`*${String.fromCharCode(name.charCodeAt(0) - 1)}`)}]\n`,
    )}`,
  ],
  ["an alias for nothing", "a: *b"],
  ["doubled keys", "name: a\nname: b"],
  ["lists without an end", "a: [1, 2"],
  ["lists that nest too deep", `a: ${"[".repeat(4_000)}${"]".repeat(4_000)}`],
  ["mappings that nest too deep", "{a: ".repeat(2_000)],
  ["what is no YAML", "a: b: c"],
  ["an indentation of tabs", "a:\n\t- b"],
])("refuses %s", (_what, yaml) => {
  expect(() => read(yaml)).toThrow("files: the frontmatter of SKILL.md: ");
});

test("knows no tags and makes no prototypes", () => {
  const value = read("__proto__: {polluted: yes}\nb: !!js/function 'x'");
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(value).toMatchObject({ b: "x" });
});
