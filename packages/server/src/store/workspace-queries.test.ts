import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  loosePiecesIn,
  type Statement,
  statementsIn,
  type TableUse,
} from "./sql-statements.testsuite.ts";

/**
 * Every statement on a table that belongs to workspaces says which one it means: nothing of another can be
 * read, changed or counted by mistake. Reading the sources finds also what no test happens to run.
 */

const FOLDER = join(import.meta.dirname, "queries");

/** Statements that mean all workspaces, by file and function; each with the reason why. */
const ACROSS_WORKSPACES: Readonly<Record<string, string>> = {
  "answered-requests.ts pruneAnsweredRequests": "what is too old is deleted, whoever it belongs to",
  "api-keys.ts findApiKey": "the key is what tells the workspace",
  "files.ts listExpiredFiles": "the collector of the server looks after all of them",
  "loose-blobs.ts addLooseBlobsOf":
    "its callers give table and condition; the workspace is the row's own",
  "loose-blobs.ts listLooseBlobs": "the collector of the server looks after all of them",
  "sealed-texts.ts listColumn": "a rotation of the encryption key renews all secrets",
  "sealed-texts.ts replace":
    "a rotation of the encryption key renews all secrets, by their whole key",
  "session-copies.ts isTaken": "a session's id is one of a kind in all of them",
  "session-copies.ts listAbandonedCopies": "the collector of the server looks after all of them",
  "session-queue.ts claimSessions": "the scheduler drives the sessions of all workspaces",
  "session-queue.ts nextDue": "the scheduler drives the sessions of all workspaces",
  "session-queue.ts renewLeases": "the leases of one process, whatever it holds",
  "session-queue.ts takeOverLeases": "the leases of another process, whatever it held",
  "session-queue.ts takeOverLostLeases":
    "the leases of processes that are gone, whatever they held",
  "undisposed-hands.ts listUndisposed": "the disposer of the server looks after all of them",
};

const UNKNOWN = ": not a table of the schema";

const schema = readFileSync(join(import.meta.dirname, "schema.sql"), "utf8");
const columnsOf = new Map(
  [...schema.matchAll(/create table (?:if not exists )?"?(\w+)"? \(([\s\S]*?)\n(?:, .*)?\)/gi)].map(
    ([, table = "", columns = ""]) => [table, columns] as const,
  ),
);
const has = (table: string, column: string) =>
  new RegExp(String.raw`^\s*${column} `, "m").test(columnsOf.get(table) ?? "");

const found = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".ts"))
  .flatMap((file) => offencesIn(file, readFileSync(join(FOLDER, file), "utf8")));

test("there is a schema, and statements to check", () => {
  expect(columnsOf.size).toBeGreaterThan(10);
  expect(has("sessions", "workspace_id")).toBe(true);
});

test("every statement takes the workspace, but for those that are named", () => {
  const unnamed = found.filter(({ where }) => !Object.hasOwn(ACROSS_WORKSPACES, where));
  expect(unnamed).toEqual([]);
});

test("what is named is still there, and still needs to be", () => {
  const needed = found.map(({ where }) => where);
  expect(Object.keys(ACROSS_WORKSPACES).filter((where) => !needed.includes(where))).toEqual([]);
});

test("elsewhere there is no statement on such a table", () => {
  const src = join(import.meta.dirname, "..");
  const elsewhere = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => /(?<!\.test|\.testsuite)\.ts$/.test(file) && !file.includes("store/queries/"))
    .filter((file) =>
      offencesIn(file, readFileSync(join(src, file), "utf8")).some(
        ({ why }) => !why.includes(UNKNOWN),
      ),
    );
  expect(elsewhere).toEqual([]);
});

test.each([
  ["nothing at all", "select * from sessions where id = {id}"],
  ["a workspace that is no value", "select * from sessions where workspace_id = id"],
  ["another value", "select * from sessions where workspace_id = {id}"],
  [
    "another workspace's column",
    "select * from sessions where {key.workspaceId} = {key.workspaceId}",
  ],
  ["an inequality", "select * from sessions where workspace_id <> {key.workspaceId}"],
  ["or", "select * from sessions where workspace_id = {key.workspaceId} or id = {id}"],
  ["not", "select * from sessions where not (workspace_id = {key.workspaceId})"],
  [
    "a condition of something else",
    "select case when workspace_id = {key.workspaceId} then 1 end from sessions",
  ],
  [
    "the workspace of an order",
    "select * from sessions where id = 1 order by workspace_id = {key.workspaceId}",
  ],
  ["an update", "update sessions set workspace_id = {key.workspaceId} where id = {id}"],
  [
    "a deletion",
    "delete from files where id in (select id from files where workspace_id = {workspaceId})",
  ],
  [
    "a join without one",
    "select * from agents a join files f on f.id = a.id where a.workspace_id = {workspaceId}",
  ],
  ["a list of tables", "select * from agents a, files f where a.workspace_id = {workspaceId}"],
  [
    "an inner select",
    "select * from agents a where a.workspace_id = {workspaceId} and exists (select 1 from files)",
  ],
  [
    "the first of a union only",
    "select id from agents where workspace_id = {workspaceId} union select id from files",
  ],
  ["an insertion without it", "insert into files (id, filename) values ({id}, {name})"],
  ["an unknown table", "select * from friends where workspace_id = {workspaceId}"],
  [
    "a condition that may be absent",
    "select * from files where {allOf([a ? undefined : sql`workspace_id = {workspaceId}`])}",
  ],
  [
    "a piece that holds or",
    "select * from files where workspace_id = {workspaceId} and {sql`a = 1 or b = 2`}",
  ],
])("finds a statement with %s", (_what, statement) => {
  expect(offencesIn("planted.ts", planted(statement))).not.toEqual([]);
});

test.each([
  "select * from sessions where workspace_id = {key.workspaceId} and (id = {id} or id = 'x')",
  "select * from sessions s join events e on e.session_key = s.session_key where s.workspace_id = {workspace_id}",
  "with page as (select * from agents where workspace_id = {workspaceId}) select * from page",
  "insert into files (workspace_id, id) values ({workspaceId}, {id})",
])("takes %s", (statement) => {
  expect(offencesIn("planted.ts", planted(statement))).toEqual([]);
});

/** A source file with the statement, holes in braces. */
function planted(statement: string): string {
  return `function planted() {\n  return sql\`${statement.replaceAll("{", "$" + "{")}\`;\n}\n`;
}

interface Offence {
  /** File and function. */
  readonly where: string;
  readonly why: string;
}

function offencesIn(file: string, source: string): Offence[] {
  const statements = statementsIn(source).flatMap((statement) =>
    problemsOf(statement).map((why) => ({ where: `${file} ${statement.of}`, why })),
  );
  const pieces = loosePiecesIn(source).map((of) => ({ where: `${file} ${of}`, why: "a loose or" }));
  return [...statements, ...pieces];
}

function problemsOf({ uses, names }: Statement): string[] {
  return uses
    .filter(({ table }) => !names.has(table))
    .map(problemOf)
    .filter((problem) => problem !== undefined);
}

function problemOf(use: TableUse): string | undefined {
  const { table, alias, how, conditions } = use;
  // A table that a variable names may be any.
  const isKnown = columnsOf.has(table);
  if (!isKnown && !table.startsWith("⟦")) return `${table}${UNKNOWN}`;
  if (isKnown && !has(table, "workspace_id")) return undefined;
  if (how === "insert")
    return use.columns.includes("workspace_id") ? undefined : `${table}: inserted`;
  if (use.isOpen) return `${table}: its conditions are joined by or`;
  const isTold = conditions.some((condition) => isBound(condition, alias, table));
  return isTold ? undefined : `${table}: read or changed without a workspace`;
}

/**
 * `workspace_id = <a workspace's id>`, or the same as another table's of the statement. Or a
 * `session_key`: that is the store's own, no caller has one, so it was found with the workspace.
 */
function isBound(condition: string, alias: string, table: string): boolean {
  const own = String.raw`(?:${alias}\.)?`;
  const id = String.raw`⟦[\w.?]*(?:workspaceId|workspace_id)⟧`;
  const forms = [
    `${own}workspace_id = ${id}`,
    String.raw`${alias}\.workspace_id = \w+\.workspace_id`,
    String.raw`\w+\.workspace_id = ${alias}\.workspace_id`,
    String.raw`\(${own}workspace_id, \w+\) = \(${id}, .*\)`,
  ];
  if (has(table, "session_key")) {
    forms.push(
      String.raw`${own}session_key = ⟦[\w.]*(?:sessionKey|session_key)⟧`,
      String.raw`${own}session_key = \w+\.session_key`,
      String.raw`\w+\.session_key = ${own}session_key`,
    );
  }
  return forms.some((form) => new RegExp(`^${form}$`).test(condition));
}
