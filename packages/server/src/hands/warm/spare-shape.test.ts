import { expect, test } from "vitest";
import type { Mount, Recipe } from "../../core/ports/hands.ts";
import { makeCall } from "../fake/make-call.ts";
import { shapeOf, spareRecipe } from "./spare-shape.ts";

const { recipe } = makeCall();
const shape = (changes: Partial<Recipe>) => shapeOf({ ...recipe, ...changes });
const blob = { sha256: "00", size_bytes: 1 };
const file: Mount = { type: "file", mount_path: "/mnt/session/uploads/a", ...blob };
const skill: Mount = {
  ...{ type: "skill", mount_path: "/mnt/skills/a", ...blob },
  ...{ source: "workspace", description: "" },
};
const memory: Mount = {
  ...{ type: "memory_store", mount_path: "/mnt/memory/a" },
  ...{ memory_store_id: "memstore_1", access: "read_only" },
};

test("files and the hosts of a network make no difference, for they are bound later", () => {
  expect(shape({ mounts: [file] })).toBe(shape({}));
  const networks = [
    { type: "unrestricted" },
    { type: "limited", hosts: [] },
    { type: "limited", hosts: ["a.test"] },
  ] as const;
  const shapes = networks.map((network) => shape({ network }));
  expect(new Set(shapes).size).toBe(1);
  expect(shapes[0]).not.toBe(shape({}));
});

test("what is bound before the first process makes one", () => {
  const shapes = [
    shape({}),
    shape({ provider: "gvisor" }),
    shape({ base: { type: "built", name: "a" } }),
    shape({ base: { type: "built", name: "b" } }),
    shape({ base: { type: "directory", path: "/a" } }),
    shape({ packages: { pip: ["a"] } }),
    shape({ packages: { npm: ["a"] } }),
    shape({ packages: { pip: ["a", "b"] } }),
    shape({ network: { type: "unrestricted" } }),
  ];
  expect(new Set(shapes).size).toBe(shapes.length);
});

test("packages are the same in whatever order, and none are none", () => {
  expect(shape({ packages: { pip: ["b", "a"], npm: ["c"] } })).toBe(
    shape({ packages: { npm: ["c"], pip: ["a", "b", "a"] } }),
  );
  expect(shape({ packages: { pip: [] } })).toBe(shape({}));
});

test("what cannot be mounted later has none, nor have files that begin with a checkpoint", () => {
  expect(shape({ mounts: [file, skill] })).toBeUndefined();
  expect(shape({ mounts: [memory] })).toBeUndefined();
  expect(shape({ checkpoint: blob })).toBeUndefined();
});

test("a spare's recipe has the shape and nothing of the session that asked for it", () => {
  const asked: Recipe = {
    ...{ ...recipe, packages: { pip: ["a"] }, mounts: [file] },
    network: { type: "limited", hosts: ["secret.test"] },
  };
  const spare = spareRecipe(asked);
  expect(shapeOf(spare)).toBe(shapeOf(asked));
  expect(JSON.stringify(spare)).not.toMatch(/secret|uploads/);
  expect(spareRecipe(recipe)).toEqual(recipe);
});
