import { type Requirement, requirements } from "../requirement.ts";

/** Threads of sessions (§5.7). */
export const sessionThreads: readonly Requirement[] = requirements({
  "threads.primary": ["5.7", "Every session has exactly one primary thread, whose parent is null."],
  "threads.list.primary": ["5.7", "The list of threads includes the primary one."],
  "threads.shape": ["5.7", "A thread has every field of the contract and `type` session_thread."],
  "threads.required-nulls": [
    "20.15",
    "parent_thread_id, workflow_run_id, archived_at, stats and usage of a thread are null, not absent.",
  ],
  "threads.agent": ["5.7", "A thread's agent is the session's without multiagent."],
  "threads.stats-null": ["5.7", "stats is null until the first change of status."],
  "threads.usage-null": ["5.7", "usage is null until the first idle."],
  "threads.statuses": ["2", "statuses[] filters threads, several of them as any of them."],
  "threads.retrieve": [
    "5.7",
    "A thread is retrieved by its id; one that the session does not have is not found.",
  ],
  "threads.archive-primary": [
    "5.7",
    "The primary thread ends with its session only: its archive is refused.",
  ],
  "threads.status": [
    "16",
    "A thread is running, idle, rescheduling or terminated, as its session says.",
  ],
  "threads.terminated": ["16", "A terminated thread takes no input."],
  "threads.events": ["6.8", "A thread's events are listed oldest first, with limit and page only."],
  "threads.stream": ["7", "A thread's stream shows that thread's events."],
  "threads.first-status": [
    "20.34",
    "The primary thread's own status events are the first thread-status events of the history.",
  ],
  "threads.archive-child": ["5.7", "Archiving a child thread answers the thread."],
  "threads.children": [
    "5.7",
    "A session whose agent delegates has child threads beside the primary one.",
  ],
});
