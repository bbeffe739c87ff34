import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./paths.js";

/**
 * The licence texts of the packages that went into a bundle, as their licences ask for.
 *
 * @param {string[]} inputs paths of the bundled files, relative to the repository
 * @returns {string}
 */
export function thirdPartyNotices(inputs) {
  const folders = new Set(inputs.map(packageFolder).filter((folder) => folder !== undefined));
  const notices = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(ROOT, folder, "package.json"), "utf8"),
    );
    return `${name} ${version} (${license})\n\n${licenceText(folder)}`.trim();
  });
  return `Drover's program holds code of these packages.\n\n${notices.join(`\n\n${"-".repeat(76)}\n\n`)}\n`;
}

/** `node_modules/@scope/name` for a file inside it. */
function packageFolder(path) {
  const parts = path.split("/");
  const start = parts.lastIndexOf("node_modules");
  if (start === -1) return undefined;
  const length = parts[start + 1]?.startsWith("@") ? 3 : 2;
  return parts.slice(0, start + length).join("/");
}

function licenceText(folder) {
  const path = join(ROOT, folder);
  const file = existsSync(path) && readdirSync(path).find((name) => /^licen[cs]e/i.test(name));
  return file ? readFileSync(join(path, file), "utf8").trim() : "";
}
