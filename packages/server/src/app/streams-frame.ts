/** One server-sent event: its name, and its JSON on one line. */
export interface StreamFrame {
  readonly type: string;
  readonly data: string;
}
