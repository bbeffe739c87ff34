import { loadConfig } from "../config.ts";
import { rotateEncryptionKey } from "./rotate-encryption-key.ts";

/** A program that rotates the encryption key, and is killed after as many transactions as its argument says. */
let batches = Number(process.argv[2]);
await rotateEncryptionKey(loadConfig(), () => {
  batches -= 1;
  if (batches === 0) process.kill(process.pid, "SIGKILL");
});
