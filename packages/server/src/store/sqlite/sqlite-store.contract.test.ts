import { testEventLog } from "../../core/ports/event-log.testsuite.ts";
import { testRecords } from "../../core/ports/records.testsuite.ts";
import { testSessionQueue } from "../../core/ports/session-queue.testsuite.ts";
import { testSessions } from "../../core/ports/sessions.testsuite.ts";
import { testStore } from "../../core/ports/store.testsuite.ts";
import { openTestStore } from "./open-test-store.testsuite.ts";

testStore(openTestStore);
testEventLog(openTestStore);
testSessions(openTestStore);
testSessionQueue(openTestStore);
testRecords(openTestStore);
