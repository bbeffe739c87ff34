import assert from "node:assert/strict";
import { FileNotDownloadableError } from "@anthropic-ai/sdk/resources/files";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, all, assertHas, assertRefused, assertTime, refused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { runTurn, script } from "../support/turns.ts";
import type { Target, WireAnswer } from "../target.ts";

const MISSING = { status: 404, type: "not_found_error" };
const UNKNOWN = "file_of_nobody";

function uploaded(t: Target, name: string, content = "x", more: object = {}) {
  return t.client.beta.files.upload({ file: new File([content], name), ...more });
}

async function send(t: Target, parts: readonly (readonly [string, string | File])[]) {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  return await t.request("POST", "/v1/files", { body: form });
}

/** One part as it is, with headers that no form of the platform would write. */
async function sendPart(t: Target, headers: string, content = "x"): Promise<WireAnswer> {
  return await t.request("POST", "/v1/files", {
    headers: { "content-type": "multipart/form-data; boundary=edge" },
    body: `--edge\r\n${headers}\r\n\r\n${content}\r\n--edge--\r\n`,
  });
}

const disposition = (rest: string) => `content-disposition: form-data; name="file"${rest}`;

/** Uploading, reading, deleting and downloading files. */
export const files: readonly Scenario[] = [
  scenario(
    "a file is uploaded and answered with what is known of it",
    {
      verifies: [
        "files.upload.shape",
        "files.upload.id",
        "files.upload.size",
        "files.upload.type",
        "files.upload.same",
        "files.expiry.none",
        "files.retrieve.same",
      ],
      rows: [114],
    },
    async (t) => {
      const { files } = t.client.beta;
      const type = "application/x-of-ours";
      const file = await files.upload({ file: new File(["zwölf"], "a.dat", { type }) });
      assert.match(file.id, /^file_/);
      assertTime(file.created_at);
      const { id, created_at, ...rest } = file;
      assert.deepEqual(rest, {
        type: "file",
        filename: "a.dat",
        mime_type: type,
        size_bytes: 6,
        downloadable: false,
        expires_at: null,
        scope: null,
      });
      assert.deepEqual(await files.retrieveMetadata(id), file);
      const again = await files.upload({ file: new File(["zwölf"], "a.dat", { type }) });
      assert.notEqual(again.id, id);
      assertHas(await uploaded(t, "empty.txt", ""), { size_bytes: 0 });
      assert.ok(created_at <= again.created_at);
    },
  ),

  scenario(
    "a file gets a name and a type, whatever was sent",
    {
      verifies: [
        "files.upload.basename",
        "files.upload.unnamed",
        "files.upload.type-guess",
        "files.upload.control",
      ],
      rows: [114],
    },
    async (t) => {
      const named = async (headers: string) => accepted(await sendPart(t, headers));
      for (const [sent, kept] of [
        ["data.csv", "data.csv"],
        ["in/deep/data.csv", "data.csv"],
        ["/etc/passwd", "passwd"],
        ["..\\..\\boot.ini", "boot.ini"],
        ["grün – 1.csv", "grün – 1.csv"],
      ]) {
        const { filename } = await named(disposition(`; filename="${sent}"`));
        assert.equal(filename, kept);
      }
      const csv = "\r\ncontent-type: text/csv";
      for (const rest of ["", '; filename=""', '; filename="a/"', '; filename=".."']) {
        const file = await named(disposition(rest) + csv);
        assertHas(file, { filename: "unnamed.csv", mime_type: "text/csv" });
      }
      const untyped = "\r\ncontent-type: application/octet-stream";
      const known = await named(disposition('; filename="a.json"') + untyped);
      assert.equal(known.mime_type, "application/json");
      const unknown = await named(disposition('; filename="a.what-there-is-not"') + untyped);
      assert.equal(unknown.mime_type, "application/octet-stream");
      const control = await sendPart(t, disposition('; filename="a\u0001b"'));
      assertRefused(control, { status: 400, says: /file/ });
      const long = await sendPart(t, disposition(`; filename="${"x".repeat(256)}"`));
      assertRefused(long, { status: 400, says: /file/ });
    },
  ),

  scenario(
    "a form that is no upload of one file is refused",
    {
      verifies: [
        "files.upload.part",
        "files.upload.once",
        "files.upload.fields",
        "files.upload.form",
        "files.upload.cut",
      ],
      rows: [114],
    },
    async (t) => {
      const file = new File(["x"], t.unique("only-here"));
      const bad = (says: RegExp) => ({ status: 400, type: "invalid_request_error", says });
      assertRefused(await send(t, []), { status: 400 });
      assertRefused(await send(t, [["files", file]]), bad(/file/));
      assertRefused(await send(t, [["expires_in_seconds", "3600"]]), bad(/file/));
      assertRefused(
        await send(t, [
          ["file", file],
          ["file", file],
        ]),
        bad(/too many/),
      );
      assertRefused(
        await send(t, [
          ["file", file],
          ["purpose", "agent"],
        ]),
        bad(/purpose/),
      );
      const post = (body: unknown, headers: Record<string, string> = {}) =>
        t.request("POST", "/v1/files", { body, headers });
      assertRefused(await post({ file: "x" }), bad(/multipart/));
      assertRefused(await post("x", { "content-type": "multipart/form-data" }), bad(/./));
      const cut = `--edge\r\n${disposition(`; filename="${file.name}"`)}\r\n\r\nhalf`;
      const headers = { "content-type": "multipart/form-data; boundary=edge" };
      assertRefused(await post(cut, headers), bad(/cut off/));
      const newest = await t.client.beta.files.list({ limit: 20 });
      assert.ok(newest.data.every(({ filename }) => filename !== file.name));
      accepted(await send(t, [["file", file]]));
    },
  ),

  scenario(
    "a file of some megabytes is taken whole",
    { verifies: ["files.upload.large"], rows: [114] },
    async (t) => {
      const content = new Uint8Array(8_000_000).fill(7);
      const file = await t.client.beta.files.upload({ file: new File([content], "large.bin") });
      assert.equal(file.size_bytes, 8_000_000);
      await t.client.beta.files.delete(file.id);
    },
  ),

  scenario(
    "a file expires when its sender says so, within bounds",
    { verifies: ["files.expiry.sum", "files.expiry.bounds"], rows: [114] },
    async (t) => {
      for (const expires_in_seconds of [3_600, 86_400, 7_776_000]) {
        const file = await uploaded(t, "a.txt", "x", { expires_in_seconds });
        assertTime(file.expires_at);
        const lives = Date.parse(file.expires_at) - Date.parse(file.created_at);
        assert.equal(lives, expires_in_seconds * 1000);
      }
      for (const bad of ["3599", "7776001", "0", "-3600", "3600.5", "1e4", "soon", " 3600"]) {
        const answer = await send(t, [
          ["file", new File(["x"], "a.txt")],
          ["expires_in_seconds", bad],
        ]);
        assertRefused(answer, { status: 400, says: /expires_in_seconds/ });
      }
      // The field may as well come before the file.
      accepted(
        await send(t, [
          ["expires_in_seconds", "3600"],
          ["file", new File(["x"], "a.txt")],
        ]),
      );
    },
  ),

  scenario(
    "the content of an expired file is gone",
    {
      verifies: ["files.expiry.expired"],
      deferred: "the shortest life of a file is an hour; the server's own tests move the clock",
    },
    async (t) => {
      const { id } = await uploaded(t, "a.txt", "x", { expires_in_seconds: 3_600 });
      await refused(t.client.beta.files.download(id), { status: 404, code: "file_expired" });
    },
  ),

  scenario(
    "what goes over the quota is refused",
    {
      verifies: ["files.quota"],
      deferred: "the run's server has no quota; the server's own tests set one",
    },
    async (t) => {
      const refusal = { status: 400, code: "storage_quota_exceeded" };
      await refused(uploaded(t, "a.txt", "x".repeat(1_000_000)), refusal);
    },
  ),

  scenario(
    "a deleted file is gone",
    {
      verifies: [
        "files.delete.tombstone",
        "files.delete.gone",
        "files.delete.unknown",
        "files.retrieve.unknown",
        "files.download.unknown",
      ],
      rows: [114],
    },
    async (t) => {
      const { files } = t.client.beta;
      const { id } = await uploaded(t, "a.txt");
      const kept = await uploaded(t, "b.txt");
      const answer = await t.request("DELETE", `/v1/files/${id}`);
      assert.deepEqual(accepted(answer), { id, type: "file_deleted" });
      for (const gone of [id, UNKNOWN]) {
        await refused(files.retrieveMetadata(gone), MISSING);
        await refused(files.delete(gone), MISSING);
        await refused(files.download(gone), MISSING);
      }
      const { data } = await files.list({ limit: 100 });
      assert.ok(data.every((file) => file.id !== id));
      assert.deepEqual(await files.retrieveMetadata(kept.id), kept);
    },
  ),

  scenario(
    "the content of an uploaded file cannot be downloaded",
    { verifies: ["files.download.upload", "files.download.class"], rows: [115] },
    async (t) => {
      const { id } = await uploaded(t, "a.txt");
      for (const files of [t.client.files, t.client.beta.files]) {
        const error = await refused(files.download(id), {
          status: 400,
          code: "file_not_downloadable",
        });
        assert.ok(error instanceof FileNotDownloadableError);
      }
    },
  ),

  scenario(
    "what an agent left is in its session's scope and is downloaded",
    {
      verifies: [
        "files.download.output",
        "files.download.bytes",
        "files.list.scope",
        "files.list.scope-empty",
      ],
      needs: ["scripted-model"],
      rows: [115],
    },
    async (t) => {
      const { files } = t.client.beta;
      const { id } = await newSession(t);
      const before = await all(files.list({ scope_id: id }));
      assert.deepEqual(before, []);
      const command = "printf 'a,b\\n1,2\\n' > /mnt/session/outputs/report.csv";
      await runTurn(
        t,
        id,
        script(
          `- tool: bash\n  input: { command: "${command.replaceAll("\\", "\\\\")}" }\n- say: done`,
        ),
      );
      const [output, ...others] = await all(files.list({ scope_id: id }));
      assert.deepEqual(others, []);
      assertHas(output, {
        filename: "report.csv",
        mime_type: "text/csv",
        size_bytes: 8,
        downloadable: true,
        expires_at: null,
        scope: { type: "session", id },
      });
      const response = await files.download(output?.id ?? "");
      assert.equal(await response.text(), "a,b\n1,2\n");
      assert.match(response.headers.get("content-type") ?? "", /^text\/csv/);
      assert.equal(response.headers.get("content-length"), "8");
      assert.deepEqual(await all(files.list({ scope_id: "sesn_of_nobody" })), []);
    },
  ),

  scenario(
    "a key that may only read uploads and deletes no files",
    { verifies: ["files.read-only"], needs: ["read-only-key"] },
    async (t) => {
      const { id } = await uploaded(t, "a.txt");
      const { files } = t.clientWith({ apiKey: t.key("read-only-key") }).beta;
      const refusal = { status: 403, type: "permission_error" };
      await refused(files.upload({ file: new File(["x"], "a.txt") }), refusal);
      await refused(files.delete(id), refusal);
      assertHas(await files.retrieveMetadata(id), { id });
    },
  ),

  scenario(
    "files and models read the same outside of the beta, with any beta header and without",
    { verifies: ["files.ga", "files.beta", "models.ga"], rows: [121] },
    async (t) => {
      const { files, models, beta } = t.client;
      const file = await files.upload({ file: new File(["x"], "ga.txt") });
      assert.deepEqual(await beta.files.retrieveMetadata(file.id), file);
      assert.deepEqual(await files.retrieveMetadata(file.id), file);
      const ids = [file.id];
      assert.deepEqual((await files.list({ ids })).data, (await beta.files.list({ ids })).data);
      const path = `/v1/files/${file.id}`;
      for (const beta of ["files-api-2025-04-14", "what-there-is-not"]) {
        const headers = { "anthropic-beta": beta };
        assert.deepEqual(accepted(await t.request("GET", path, { headers })), file);
      }
      assertHas(await files.delete(file.id), { type: "file_deleted" });
      const listed = await all(models.list());
      assert.deepEqual(listed, await all(beta.models.list()));
      for (const { id } of listed.slice(0, 2)) {
        assert.deepEqual(await models.retrieve(id), await beta.models.retrieve(id));
      }
    },
  ),
];
