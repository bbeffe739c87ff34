import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { pageOf } from "./html-page.ts";

const Task = z.object({ html: z.string(), url: z.string() });

const { html, url } = Task.parse(workerData);
parentPort?.postMessage(pageOf(html, url));
