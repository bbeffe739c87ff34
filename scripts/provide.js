// Started by `lib/meanwhile.js`: installs what the slower suites run, and tells the parent what is there.
import { provideClients } from "./lib/clients.js";
import { provideDocker } from "./lib/docker.js";

const docker = provideDocker();
provideClients({ installers: true });
process.send?.({ docker }, () => process.disconnect());
