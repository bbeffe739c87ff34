import { testCredentialUses } from "./credential-uses.testsuite.ts";
import { testEncryption } from "./encryption.testsuite.ts";
import { testEventLog } from "./event-log.testsuite.ts";
import { testHandRecords } from "./hand-records.testsuite.ts";
import { testLooseBlobs } from "./loose-blobs.testsuite.ts";
import { testMemoryStores } from "./memory-stores.testsuite.ts";
import { testRecords } from "./records.testsuite.ts";
import { testServerKeys } from "./server-keys.testsuite.ts";
import { testSessionCopies } from "./session-copies.testsuite.ts";
import { testSessionQueue } from "./session-queue.testsuite.ts";
import { testSessions } from "./sessions.testsuite.ts";
import { testSkills } from "./skills.testsuite.ts";
import { type OpenStore, testStore } from "./store.testsuite.ts";
import { testVaults } from "./vaults.testsuite.ts";
import { testWorkspaces } from "./workspaces.testsuite.ts";

/** The contracts of everything in a `Store`: each engine's test runs them all. */
const SUITES: readonly ((open: OpenStore) => void)[] = [
  testStore,
  testEventLog,
  testSessions,
  testSessionQueue,
  testSessionCopies,
  testHandRecords,
  testRecords,
  testLooseBlobs,
  testMemoryStores,
  testVaults,
  testCredentialUses,
  testEncryption,
  testWorkspaces,
  testSkills,
  testServerKeys,
];

export function testStorePorts(open: OpenStore): void {
  for (const suite of SUITES) suite(open);
}
