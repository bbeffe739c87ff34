import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { many } from "../support/agents.ts";
import { accepted, all, assertRefused, refused } from "../support/expect.ts";
import type { Target } from "../target.ts";

const MISSING = { status: 404, type: "not_found_error" };

/** New files, the newest first. */
async function newFiles(t: Target, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (const number of many(count, (index) => index)) {
    const file = await t.client.beta.files.upload({ file: new File(["x"], `${number}.txt`) });
    ids.unshift(file.id);
  }
  return ids;
}

/** Listing files. */
export const fileLists: readonly Scenario[] = [
  scenario(
    "files are listed newest first, in pages of any size",
    { verifies: ["files.list.order", "files.list.paged"], rows: [114] },
    async (t) => {
      const ids = await newFiles(t, 5);
      for (const limit of [3, 100, 1_000]) {
        const listed = (await all(t.client.beta.files.list({ limit }))).map(({ id }) => id);
        assert.equal(new Set(listed).size, listed.length, `each once, limit ${limit}`);
        assert.deepEqual(
          listed.filter((id) => ids.includes(id)),
          ids,
          `limit ${limit}`,
        );
      }
    },
  ),

  scenario(
    "ids restrict the list to those files, in one page",
    {
      verifies: [
        "files.list.ids",
        "files.list.ids-single",
        "files.list.ids-unknown",
        "files.list.ids-duplicates",
        "files.list.ids-encoding",
      ],
      rows: [114],
    },
    async (t) => {
      const { files } = t.client.beta;
      const [one = "", two = "", deleted = ""] = await newFiles(t, 3);
      await files.delete(deleted);
      const page = await files.list({ ids: [one, "file_of_nobody", deleted, two, one] });
      assert.deepEqual(page.data.map(({ id }) => id).sort(), [one, two].sort());
      assert.equal(page.next_page, null);
      assert.deepEqual((await files.list({ ids: [deleted] })).data, []);
      const found = async (query: string) =>
        accepted(await t.request("GET", `/v1/files?${query}`)).data.length;
      assert.equal(await found(`ids[]=${one}&ids[]=${two}`), 2);
      assert.equal(await found(`ids=${one}&ids=${two}`), 2);
      assert.equal(await found(`ids=${one}`), 1);
    },
  ),

  scenario(
    "there are at most 100 ids, and neither page nor limit with them",
    { verifies: ["files.list.ids-max", "files.list.ids-exclusive"], rows: [114] },
    async (t) => {
      const { files } = t.client.beta;
      const [id = ""] = await newFiles(t, 1);
      const most = many(100, (index) => `file_${index}`);
      await files.list({ ids: most });
      await files.list({ ids: [...most, ...most.slice(0, 50)] });
      const bad = { status: 400, type: "invalid_request_error", says: /ids/ };
      await refused(files.list({ ids: [...most, "file_101"] }), bad);
      await refused(files.list({ ids: [id], limit: 10 }), bad);
      assertRefused(await t.request("GET", `/v1/files?ids[]=${id}&page=abc`), bad);
      assertRefused(await t.request("GET", `/v1/files?scope=${id}`), {
        status: 400,
        says: /scope/,
      });
    },
  ),

  scenario(
    "files of another workspace are neither found nor listed",
    { verifies: ["files.workspace"], needs: ["other-workspace"] },
    async (t) => {
      const [id = ""] = await newFiles(t, 1);
      const { files } = t.clientWith({ apiKey: t.key("other-workspace") }).beta;
      await refused(files.retrieveMetadata(id), MISSING);
      await refused(files.download(id), MISSING);
      await refused(files.delete(id), MISSING);
      assert.deepEqual((await files.list({ ids: [id] })).data, []);
      assert.ok((await all(files.list())).every((file) => file.id !== id));
      assert.equal((await t.client.beta.files.retrieveMetadata(id)).id, id);
    },
  ),
];
