import { OPERATIONS, type Operation } from "@drover/api";
import { expect, test } from "vitest";
import { z } from "zod";
import { openWorld } from "./world.testsuite.ts";

/** The table of operations and the app must say the same. */

const nameless = (path: string) => path.replaceAll(/\{\w+\}|:\w+/g, "{}");
const addressOf = ({ path }: Operation) => path.replaceAll(/\{\w+\}/g, "nobody");
const keyed = OPERATIONS.filter((each) => each.unbuilt === undefined && each.isPublic !== true);

test("the operations are the routes that the app has", async () => {
  const { app } = await openWorld();
  const routes = app.routes.filter(({ method }) => method !== "ALL");
  const inApp = routes.map(({ method, path }) => `${method} ${nameless(path)}`);
  const inTable = OPERATIONS.map(({ method, path }) => `${method} ${nameless(path)}`);
  expect([...new Set(inApp)].sort()).toEqual([...inTable].sort());
});

test("each takes the parameters of the table and no other", async () => {
  const { request } = await openWorld();
  for (const operation of keyed) {
    const names = [...Object.keys(operation.query?.shape ?? {}), "colour"];
    const query = names.map((name) => `${encodeURIComponent(name)}=,`).join("&");
    const { status, body } = await request(operation.method, `${addressOf(operation)}?${query}`);
    const unknown = body.error.message.match(/\S+: unknown field/g);
    expect([status, unknown], operation.id).toEqual([400, ["colour: unknown field"]]);
  }
});

test("each reads the fields of the table and no other", async () => {
  const { request } = await openWorld();
  for (const operation of keyed) {
    const { id, method, body: schema } = operation;
    if (!(schema instanceof z.ZodObject)) continue;
    const sent = Object.fromEntries(["colour", ...Object.keys(schema.shape)].map((k) => [k, NaN]));
    const { status, body } = await request(method, addressOf(operation), sent);
    const unknown = body.error.message.match(/\S+: unknown field/g);
    expect([status, unknown], id).toEqual([400, ["colour: unknown field"]]);
  }
});

test("what is not built answers 501 by name, never to be asked again", async () => {
  const { request } = await openWorld();
  const unbuilt = OPERATIONS.filter((each) => each.unbuilt !== undefined);
  expect(unbuilt).not.toEqual([]);
  for (const operation of unbuilt) {
    const { status, body, headers } = await request(operation.method, addressOf(operation));
    expect([status, body.error.message, headers.get("x-should-retry")], operation.id).toEqual([
      501,
      `not implemented in this version: ${operation.unbuilt}`,
      "false",
    ]);
  }
});

test("the document is there for everybody", async () => {
  const { app } = await openWorld();
  const response = await app.request("/openapi.json");
  expect(response.headers.get("content-type")).toBe("application/json");
  const document = (await response.json()) as { openapi: string; paths: Record<string, object> };
  expect(document.openapi).toBe("3.1.0");
  const paths = new Set(OPERATIONS.map(({ path }) => path));
  expect(Object.keys(document.paths).sort()).toEqual([...paths].sort());
});
