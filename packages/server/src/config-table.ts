import { SETTING_NAMES, Settings, yamlKey } from "./config-settings.ts";

/** The settings as a page of Markdown, so that the documentation cannot differ from the program. */
export function settingsPage(): string {
  const rows = SETTING_NAMES.map((name) => {
    const field = Settings.shape[name];
    const key = name === "DROVER_CONFIG" ? "" : `\`${yamlKey(name)}\``;
    return `| \`${name}\` | ${key} | ${defaultOf(name)} | ${field.description ?? ""} |`;
  });
  return [
    "# Settings",
    "",
    "<!-- Generated from packages/server/src/config-settings.ts; `vitest run config-table -u` writes it. -->",
    "",
    "Each setting is an environment variable, and a key of the YAML file that `DROVER_CONFIG` names.",
    "The environment wins. A name that is not in this table is refused, so that a typing error is not",
    "silently ignored.",
    "",
    "| Environment variable | YAML key | Default | Meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function defaultOf(name: keyof typeof Settings.shape): string {
  const parsed = Settings.shape[name].safeParse(undefined);
  const value = parsed.success ? parsed.data : undefined;
  return value === undefined || Array.isArray(value) ? "" : `\`${value}\``;
}
