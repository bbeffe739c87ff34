import { join } from "node:path";
import { pino } from "pino";
import { INSTALLED_WORKSPACE } from "../app/installed-skills.ts";
import type { Config } from "../config.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { WebSearch } from "../core/ports/web-search.ts";
import { openEgress, openGuard, plainAllowed } from "../egress/open-egress.ts";
import { systemClock } from "../lib/system-clock.ts";
import { blobPath } from "../store/blob-path.ts";
import { LocalBlobs } from "../store/local-blobs.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import { followKeyFile } from "../vault/key-file.ts";
import { BrokeredCredentials, type ExternalManagers } from "./credentials/brokered-credentials.ts";
import { carrySecrets } from "./credentials/carry-secrets.ts";
import { QuestionBox } from "./credentials/question-box.ts";
import { TokenExchanger } from "./credentials/token-exchanger.ts";
import { tryCredential } from "./credentials/try-credential.ts";
import { connectDirectly } from "./egress/dial.ts";
import { openOutfitted } from "./packages/open-outfitted.ts";
import type { CredentialParts, HandsAdapters } from "./runtime/hands-parts.ts";
import type { Report } from "./runtime/report.ts";
import { openProvider } from "./sandbox/open-provider.ts";
import { type ConfiguredSearch, openWebSearch } from "./search/open-web-search.ts";
import { SecretCommand } from "./secrets/secret-command.ts";
import { SecretFiles } from "./secrets/secret-files.ts";
import { executeTool } from "./toolset/execute-tool.ts";
import { PageReader } from "./web/page-reader.ts";
import { webTools } from "./web/web-tools.ts";

/** The one place that knows which adapters the hands process is made of. */
export async function composeHands(config: Config): Promise<HandsAdapters> {
  const log = pino(
    { level: config.logLevel, base: null },
    pino.destination({ dest: 2, sync: true }),
  );
  const blobsFolder = join(config.data, "blobs");
  const report: Report = (event, { error, ...fields }) => {
    if (error === undefined) log.info(fields, event);
    else log.warn({ ...fields, err: error }, event);
  };
  const provider = openProvider(config, {
    dataFolder: config.data,
    blobPath: (workspaceId, sha256) => blobPath(blobsFolder, workspaceId, sha256),
    installedPath: (sha256) => blobPath(blobsFolder, INSTALLED_WORKSPACE, sha256),
    onWarning: (message, error) => log.warn({ err: error }, message),
  });
  const secretBox = lateBox(config);
  return {
    provider: openOutfitted(provider, {
      dataFolder: config.data,
      registries: config.packageRegistries,
      ...{ clock: systemClock, report },
    }),
    blobs: await LocalBlobs.open(blobsFolder),
    runTool: executeTool,
    outside: webTools({
      egress: openEgress(config.egressAllow),
      reader: new PageReader(),
      clock: systemClock,
      ...(config.search !== undefined && { search: searchOf(config.search, config.egressAllow) }),
    }),
    repositories: { upstream: { guard: openGuard(config.egressAllow) }, secretBox },
    credentials: openCredentials(config, secretBox),
    mcp: {
      guard: openGuard(config.egressAllow),
      connect: connectDirectly,
      isPlainAllowed: plainAllowed(config.egressAllow),
    },
    clock: systemClock,
    report,
  };
}

/** What sessions may use of their vaults: asked of servers, and opened here. */
function openCredentials(
  config: Config,
  secretBox: Pick<SecretBox, "open" | "seal">,
): CredentialParts {
  const clock = systemClock;
  const { egressAllow, secretsFolder, secretsCommand } = config;
  const external: ExternalManagers = {
    ...(secretsFolder !== undefined && { files: new SecretFiles(secretsFolder) }),
    ...(secretsCommand !== undefined && {
      command: new SecretCommand(secretsCommand),
    }),
  };
  const questions = new QuestionBox(clock);
  const egress = openEgress(egressAllow);
  const exchanger = new TokenExchanger({ ask: questions.ask, secretBox, egress, clock });
  return {
    questions,
    source: new BrokeredCredentials({ ask: questions.ask, secretBox, exchanger, external, clock }),
    carrySecrets: (moves) => carrySecrets(secretBox, moves),
    tryCredential: (credential) => tryCredential(credential, { egress, secretBox, exchanger }),
  };
}

/** Opened with the first secret: the server makes the keys, and these hands may need none. */
function lateBox({ data, encryptionKeys }: Config): Pick<SecretBox, "open" | "seal"> {
  let box: SecretBox | undefined;
  const opened = () => {
    box ??= createEnvelopeBox(
      encryptionKeys === undefined
        ? followKeyFile(join(data, "encryption-keys"))
        : givenKeys(encryptionKeys, "DROVER_ENCRYPTION_KEY"),
    );
    return box;
  };
  return {
    open: (sealed, binding) => opened().open(sealed, binding),
    seal: (plain, binding) => opened().seal(plain, binding),
  };
}

/** The address of the provider is the operator's own setting, so it may be one of their network. */
function searchOf(search: ConfiguredSearch, allow: readonly string[]): WebSearch {
  const host = new URL(search.url).hostname.replace(/^\[|\]$/g, "");
  return openWebSearch(search, openEgress([...allow, host]));
}
