import { loadConfig } from "../config.ts";
import { rotateEncryptionKey } from "./rotate-encryption-key.ts";

/**
 * A program that rotates the encryption key of the data folder of its first argument, and is killed
 * after as many transactions as its second says.
 */
const [data = "", left = ""] = process.argv.slice(2);
let batches = Number(left);
await rotateEncryptionKey(loadConfig({ DROVER_DATA: data }), () => {
  batches -= 1;
  if (batches === 0) process.kill(process.pid, "SIGKILL");
});
