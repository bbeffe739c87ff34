import { join } from "node:path";
import { expect, test } from "vitest";
import { SETTING_NAMES, Settings } from "./config-settings.ts";
import { settingsPage } from "./config-table.ts";

const PAGE = join(import.meta.dirname, "../../../docs/settings.md");

test("docs/settings.md says exactly what the program accepts", async () => {
  await expect(settingsPage()).toMatchFileSnapshot(PAGE);
});

test("every setting has a description", () => {
  const undescribed = SETTING_NAMES.filter((name) => !Settings.shape[name].description);
  expect(undescribed).toEqual([]);
});
