/** Error codes of the contract's web tools; a model may know them. */
type WebErrorCode =
  | "invalid_input"
  | "url_too_long"
  | "url_not_allowed"
  | "url_not_accessible"
  | "unsupported_content_type"
  | "content_too_large"
  | "too_many_requests"
  | "unavailable";

/** A web tool cannot do what was asked. The message is a sentence for the model. */
export class WebError extends Error {
  readonly code: WebErrorCode;

  constructor(code: WebErrorCode, message: string) {
    super(message);
    this.name = "WebError";
    this.code = code;
  }
}
