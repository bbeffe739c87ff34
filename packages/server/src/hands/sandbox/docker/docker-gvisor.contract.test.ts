import { testEngine } from "./docker-engine.testsuite.ts";

// The strictest there is: what a sandbox must read is made readable all the same.
process.umask(0o077);

testEngine("gvisor", "Docker Engine with gVisor");
