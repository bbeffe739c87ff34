import { describe } from "vitest";
import { openTestStore as openPostgres } from "../store/postgres/open-test-store.testsuite.ts";
import { openTestStore as openSqlite } from "../store/sqlite/open-test-store.testsuite.ts";
import { testPages } from "./pages.testsuite.ts";

describe("pages on SQLite", () => testPages(openSqlite));
describe("pages on PostgreSQL", () => testPages(openPostgres));
