import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModelInfo } from "@drover/api";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "./config.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../../docs/models.md"), "utf8");

test("every example of the page is a file that the server takes", () => {
  const examples = [...PAGE.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  expect(examples.length).toBeGreaterThan(1);
  const folder = mkdtempSync(join(tmpdir(), "drover-models-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "openrouter.key"), "a-key\n");
  for (const [index, text] of examples.entries()) {
    const path = join(folder, `${index}.yaml`);
    writeFileSync(path, text);
    const { models } = loadConfig({ DROVER_MODELS_FILE: path, TEAM_MODEL_KEY: "key" }).model;
    expect(models.length).toBeGreaterThan(0);
    for (const { info } of models) expect(ModelInfo.parse(info)).toEqual(info);
  }
});
