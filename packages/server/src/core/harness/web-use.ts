import type { PriceList } from "../pricing/price-list.ts";
import type { WebUse } from "../session/log-event.ts";

/** What a call of a web tool has used that was answered; undefined for other tools. */
export function webUse(name: string, { search }: Pick<PriceList, "search">): WebUse | undefined {
  switch (name) {
    case "web_search":
      return { web_search_requests: 1, cost: String(search) };
    case "web_fetch":
      return { web_fetch_requests: 1, cost: "0" };
    default:
      return undefined;
  }
}
