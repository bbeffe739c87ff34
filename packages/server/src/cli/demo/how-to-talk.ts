/** What a person needs to go on with the running server. */
export function howToTalk(server: { url: string; apiKey: string; data: string }): string {
  return `Base URL   ${server.url}
API key    ${server.apiKey}

Any client of the Managed Agents API can use it. In TypeScript, with \`npm install @anthropic-ai/sdk\`:

  import Anthropic from "@anthropic-ai/sdk";
  const client = new Anthropic({ baseURL: "${server.url}", apiKey: "${server.apiKey}" });
  for await (const session of client.beta.sessions.list()) console.log(session.id, session.status, session.title);
  const [file] = (await client.beta.files.list()).data;
  console.log(file?.filename, file?.size_bytes);

Stop it    npx drover stop --hands --data ${server.data}`;
}
