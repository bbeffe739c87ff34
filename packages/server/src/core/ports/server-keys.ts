/** Keys that all servers of a database have in common and nobody is ever given, by name. */
export interface ServerKeys {
  /** The key of that name: `made`, if there was none. Base64url. */
  ensure(name: string, made: string): Promise<string>;
}
