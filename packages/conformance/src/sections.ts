/** The contract's sections that have requirements, by the number before the first dot. */
export const SECTIONS: Readonly<Record<string, string>> = {
  "1": "Transport",
  "2": "Endpoints",
  "3": "Agents",
  "4": "Environments",
  "5": "Sessions",
  "6": "Events",
  "7": "Streams, resumption, accumulation",
  "8": "Deployments and runs",
  "9": "Vaults and credentials",
  "10": "Memory stores",
  "11": "Skills",
  "12": "Files",
  "13": "Models",
  "14": "Dreams",
  "15": "Tunnels",
  "16": "Life cycles",
  "17": "Self-hosted environments",
  "18": "Webhooks",
  "19": "Client credentials",
  "20": "What is easily got wrong",
  "21a": "Where the contract is silent",
};

/** `3` of `3.2`. */
export function sectionOf(section: string): string {
  return section.split(".")[0] ?? section;
}
