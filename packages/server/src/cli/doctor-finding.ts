export interface Finding {
  /** `limit`: works, but a person should know what it does not do. */
  readonly verdict: "good" | "limit" | "fault";
  readonly subject: string;
  readonly text: string;
}

const MARKS = { good: "ok  ", limit: "note", fault: "FAIL" } as const;
const SUBJECT_WIDTH = 12;

export function good(subject: string, text: string): Finding {
  return { verdict: "good", subject, text };
}

export function limit(subject: string, text: string): Finding {
  return { verdict: "limit", subject, text };
}

export function fault(subject: string, text: string): Finding {
  return { verdict: "fault", subject, text };
}

export function findingLine({ verdict, subject, text }: Finding): string {
  return `${MARKS[verdict]}  ${subject.padEnd(SUBJECT_WIDTH)}${text}`;
}
