/** What the client does not tell of an answer. */
export interface Answered {
  /** The stream was ended by `[DONE]`. */
  sawDone: boolean;
  /** Of an answer that is an error. */
  errorBody: string | undefined;
}

const DONE = "[DONE]";
const ERROR_BYTES_MAX = 64 * 1024;

/**
 * The answer as the client is to read it, with what it does not tell noted on the way. A server that
 * answers with one JSON body although a stream was asked for is read as a stream of one chunk.
 */
export async function answered(response: Response, seen: Answered): Promise<Response> {
  const { status, statusText, headers } = response;
  if (!response.ok) {
    seen.errorBody = (await response.text()).slice(0, ERROR_BYTES_MAX);
    return new Response(seen.errorBody, { status, statusText, headers });
  }
  const type = headers.get("content-type") ?? "";
  if (/^application\/json\b/i.test(type)) {
    const body: unknown = await response.json();
    seen.sawDone = true;
    return new Response(`data: ${JSON.stringify(body)}\n\ndata: ${DONE}\n\n`, { status, headers });
  }
  return response.body === null ? response : withDoneSeen(response, response.body, seen);
}

/** The last bytes of a part and the next part together, so that `[DONE]` is seen across them. */
function withDoneSeen(
  { status, statusText, headers }: Response,
  body: ReadableStream<Uint8Array>,
  seen: Answered,
): Response {
  let tail = "";
  const watching = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      const end = Buffer.from(bytes.subarray(-DONE.length * 4)).toString("latin1");
      tail = (tail + end).slice(-DONE.length * 4);
      if (tail.includes(DONE)) seen.sawDone = true;
      controller.enqueue(bytes);
    },
  });
  return new Response(body.pipeThrough(watching), { status, statusText, headers });
}
