import { requirements } from "../requirement.ts";

export const selfHosted = requirements({
  "self-hosted.poll.empty": [
    "17.2",
    "A poll of an empty queue answers nothing, after block_ms at most.",
  ],
  "self-hosted.enqueue": [
    "17.1",
    "A session in a self-hosted environment is queued, with a secret in the poll.",
  ],
  "self-hosted.ack": [
    "17.2",
    "What is acknowledged leaves the queue; what is not is delivered again.",
  ],
  "self-hosted.heartbeat": ["17.2", "A heartbeat is a compare-and-swap; a stale one is 412."],
  "self-hosted.stop": ["17.2", "A stop is graceful, or forced, and heartbeats tell."],
  "self-hosted.credentials": [
    "17.3",
    "Each credential opens what it is for; the secret is null outside of polls.",
  ],
  "self-hosted.worker.run": ["17.4", "The official worker runs a turn, and stops its work."],
  "self-hosted.worker.single": ["17.9", "One item can be handled by its secret alone."],
  "self-hosted.poller": ["17.9", "The poller stops each item, and ends on an empty queue if told."],
  "self-hosted.worker.idle": ["17.6", "A worker ends after its idle time."],
  "self-hosted.requeue": ["17.1", "A message after the worker's end makes new work."],
  "self-hosted.lapse": [
    "17.5",
    "Work whose worker died is had by another, and nothing runs twice.",
  ],
  "self-hosted.split": ["17.6", "A worker and an app answer the tools of one session."],
  "self-hosted.gate": ["17.6", "A call that asks is held until it is allowed."],
  "self-hosted.skills": ["17.4", "A worker downloads the agent's skills."],
  "self-hosted.memory": ["17.8", "A worker mounts and syncs memory stores."],
  "self-hosted.terminated": ["17.4", "A worker stops the work of a session that has ended."],
  "self-hosted.interrupted": [
    "17.4",
    "An interrupted call is closed, so that nobody runs it again.",
  ],
});
