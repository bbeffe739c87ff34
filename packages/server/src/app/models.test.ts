import type { ModelInfo } from "@drover/api";
import { expect, test } from "vitest";
import type { OfferedModel } from "../core/ports/model.ts";
import { createModels } from "./models.ts";

function model(
  id: string,
  day: number,
  lifecycle: ModelInfo["lifecycle"] = "active",
): OfferedModel {
  return {
    aliases: id === "e" ? ["best"] : [],
    hasFastMode: id === "e",
    info: {
      id,
      type: "model",
      display_name: id,
      created_at: `2026-01-0${day}T00:00:00Z`,
      line: null,
      lifecycle,
      deprecated_at: null,
      retires_at: null,
      max_input_tokens: null,
      max_tokens: null,
      allowed_fallback_models: null,
      capabilities: null,
    },
  };
}

const models = createModels([
  model("a", 1),
  model("e", 5),
  model("c", 3, "deprecated"),
  model("d", 4, "retired"),
  model("b", 2),
]);

function ids(query: Parameters<typeof models.list>[0]) {
  const { data, ...rest } = models.list(query);
  return { ids: data.map((each) => each.id).join(""), ...rest };
}

test("the newest model comes first, and retired ones only when asked for", () => {
  expect(ids({})).toEqual({ ids: "ecba", has_more: false, first_id: "e", last_id: "a" });
  expect(ids({ lifecycle: ["retired"] }).ids).toBe("d");
});

test("pages go on after an id and back before one", () => {
  expect(ids({ limit: 2 })).toEqual({ ids: "ec", has_more: true, first_id: "e", last_id: "c" });
  expect(ids({ limit: 2, after_id: "c" })).toEqual({
    ids: "ba",
    has_more: false,
    first_id: "b",
    last_id: "a",
  });
  expect(ids({ limit: 1, before_id: "b" })).toMatchObject({ ids: "c", has_more: true });
  expect(ids({ after_id: "a" })).toEqual({
    ids: "",
    has_more: false,
    first_id: null,
    last_id: null,
  });
});

test("a thousand models of one day are on one page each, there and back", () => {
  const names = Array.from({ length: 1_000 }, (_, number) => `m${(number * 7_919) % 1_000}`);
  const many = createModels(names.map((name) => model(name, 1)));
  const there: string[] = [];
  const back: string[] = [];
  let page = many.list({ limit: 7 });
  for (; page.has_more; page = many.list({ limit: 7, after_id: page.last_id ?? "" })) {
    there.push(...page.data.map(({ id }) => id));
  }
  there.push(...page.data.map(({ id }) => id));
  expect(there.toSorted()).toEqual(names.toSorted());
  for (let more = true; more; more = page.has_more) {
    page = many.list({ limit: 7, before_id: back[0] ?? there.at(-1) ?? "" });
    back.unshift(...page.data.map(({ id }) => id));
  }
  expect(back).toEqual(there.slice(0, -1));
});

test("positions that do not exist, or contradict, are refused by name", () => {
  expect(() => models.list({ after_id: "x" })).toThrow("after_id: there is no model x");
  expect(() => models.list({ after_id: "a", before_id: "b" })).toThrow("cannot be combined");
});

test("a model is found by id and by alias", () => {
  expect(models.retrieve("best").id).toBe("e");
  expect(models.retrieve("d").lifecycle).toBe("retired");
  expect(() => models.retrieve("x")).toThrow("there is no model x");
});

test("the speed fast is refused where it is known not to be there", () => {
  expect(() => models.assertSpeed({ id: "a", speed: "fast" })).toThrow(
    "model.speed: model a has no fast mode",
  );
  for (const id of ["e", "best", "unknown"]) models.assertSpeed({ id, speed: "fast" });
  models.assertSpeed({ id: "a", speed: "standard" });
  models.assertSpeed("a");
});
