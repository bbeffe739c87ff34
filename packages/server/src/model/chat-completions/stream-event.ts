/** An event of the Messages API's stream, as `ResponseBuilder` takes it. */
export type StreamEvent = Readonly<Record<string, unknown>>;
