import { expect, test } from "vitest";
import { openHarness, openWorld } from "../http/world.testsuite.ts";

const message = (text: string) => ({ type: "user.message", content: [{ type: "text", text }] });

/** A session with a turn whose events lie a second apart, and two messages that wait. */
async function openList() {
  let time = Date.UTC(2026, 0, 1);
  const world = await openWorld({
    now: () => {
      time += 1000;
      return time;
    },
  });
  const { body } = await world.request("POST", "/v1/sessions", await world.prepare());
  const path = `/v1/sessions/${body.id}/events`;
  const send = (...events: readonly object[]) => world.request("POST", path, { events });
  await send(message("hello"));
  await (await openHarness(world, body.id)).turn("hi");
  await send(message("one"), message("two"));
  return async (query: Readonly<Record<string, string>>) => {
    const answer = await world.request("GET", `${path}?${new URLSearchParams(query)}`);
    return { ...answer, ids: answer.body.data?.map(({ id }) => id) };
  };
}

const REFUSED = {
  status: 400,
  body: { error: { message: "page: the cursor lies outside the created_at filter" } },
};

test.each(["asc", "desc"])("a cursor goes on under bounds that hold it, %s", async (order) => {
  const list = await openList();
  const waiting = order === "desc" ? 2 : 0;
  const all = await list({ order });
  const size = waiting + 4;
  const first = await list({ order, limit: String(size) });
  const page = first.body.next_page ?? "";
  const edge = first.body.data.at(-1)?.processed_at ?? "";
  const log = all.body.data.filter(({ processed_at }) => processed_at !== null);
  const times = log.map(({ processed_at }) => String(processed_at)).sort();
  expect(new Set(times).size).toBeGreaterThan(2);

  const rest = { order, page, limit: "100" };
  const wide = await list({ ...rest, "created_at[gte]": times.at(0) ?? "" });
  const ids = log.slice(4).map(({ id }) => id);
  expect(wide).toMatchObject({ status: 200, ids });
  expect(await list({ ...rest, "created_at[gte]": edge })).toMatchObject({ status: 200 });
  expect(await list({ ...rest, "created_at[lte]": edge })).toMatchObject({ status: 200 });
  for (const bound of ["gt", "lt"]) {
    expect(await list({ ...rest, [`created_at[${bound}]`]: edge })).toMatchObject(REFUSED);
  }
});

test("a cursor among waiting input, which has no time, is outside of all bounds", async () => {
  const list = await openList();
  const { body } = await list({ order: "desc", limit: "1" });
  const rest = { order: "desc", page: body.next_page ?? "" };
  expect(await list(rest)).toMatchObject({ status: 200 });
  const bounded = await list({ ...rest, "created_at[gte]": "2020-01-01T00:00:00Z" });
  expect(bounded).toMatchObject(REFUSED);
});
