export interface OwnHeaders {
  readonly apiKey: string;
  /** Of the configuration. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What the official clients send of themselves: how to read the request, and who wrote them. */
const OF_CLIENTS =
  /^(accept|content-type|user-agent|anthropic-(version|beta)|x-stainless-[a-z-]+)$/i;

/**
 * `fetch` for the official clients of model APIs, with the key and the headers of one provider and no
 * others. The clients read some from the environment (`OPENAI_CUSTOM_HEADERS`,
 * `ANTHROPIC_CUSTOM_HEADERS`), meant for one vendor, and would send them to every base URL, before the
 * key that they were given.
 */
export function ownFetch({ apiKey, headers }: OwnHeaders): typeof fetch {
  return (input, init) => {
    const own = new Headers();
    for (const [name, value] of new Headers(init?.headers)) {
      if (OF_CLIENTS.test(name)) own.set(name, value);
    }
    own.set("authorization", `Bearer ${apiKey}`);
    for (const [name, value] of Object.entries(headers)) own.set(name, value);
    return fetch(input, { ...init, headers: own });
  };
}
