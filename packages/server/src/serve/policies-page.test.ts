import { join } from "node:path";
import { expect, test } from "vitest";
import { policiesPage } from "./policies-page.ts";

const PAGE = join(import.meta.dirname, "../../../../docs/policies.md");

test("docs/policies.md says exactly what the program works around", async () => {
  await expect(policiesPage()).toMatchFileSnapshot(PAGE);
});
