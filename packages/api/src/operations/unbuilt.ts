import { type Operation, unbuilt } from "../operation.ts";

/** Resources of the contract of which this version has nothing. */

const DEPLOYMENT = "/v1/deployments/{deployment_id}";
const DREAM = "/v1/dreams/{dream_id}";
const TUNNEL = "/v1/tunnels/{tunnel_id}";
const WEBHOOK = "/v1/organizations/webhooks/{webhook_endpoint_id}";

export const unbuiltOperations: readonly Operation[] = [
  ...unbuilt("deployments", {
    "deployments.create": "POST /v1/deployments",
    "deployments.list": "GET /v1/deployments",
    "deployments.retrieve": `GET ${DEPLOYMENT}`,
    "deployments.update": `POST ${DEPLOYMENT}`,
    "deployments.archive": `POST ${DEPLOYMENT}/archive`,
    "deployments.pause": `POST ${DEPLOYMENT}/pause`,
    "deployments.unpause": `POST ${DEPLOYMENT}/unpause`,
    "deployments.run": `POST ${DEPLOYMENT}/run`,
  }),
  ...unbuilt("deployment runs", {
    "deploymentRuns.list": "GET /v1/deployment_runs",
    "deploymentRuns.retrieve": "GET /v1/deployment_runs/{deployment_run_id}",
  }),
  ...unbuilt("dreams", {
    "dreams.create": "POST /v1/dreams",
    "dreams.list": "GET /v1/dreams",
    "dreams.retrieve": `GET ${DREAM}`,
    "dreams.archive": `POST ${DREAM}/archive`,
    "dreams.cancel": `POST ${DREAM}/cancel`,
  }),
  ...unbuilt("tunnels", {
    "tunnels.create": "POST /v1/tunnels",
    "tunnels.list": "GET /v1/tunnels",
    "tunnels.retrieve": `GET ${TUNNEL}`,
    "tunnels.archive": `POST ${TUNNEL}/archive`,
    "tunnels.revealToken": `POST ${TUNNEL}/reveal_token`,
    "tunnels.rotateToken": `POST ${TUNNEL}/rotate_token`,
    "tunnels.certificates.create": `POST ${TUNNEL}/certificates`,
    "tunnels.certificates.list": `GET ${TUNNEL}/certificates`,
    "tunnels.certificates.retrieve": `GET ${TUNNEL}/certificates/{certificate_id}`,
    "tunnels.certificates.archive": `POST ${TUNNEL}/certificates/{certificate_id}/archive`,
  }),
  ...unbuilt("webhooks", {
    "organization.webhooks.create": "POST /v1/organizations/webhooks",
    "organization.webhooks.list": "GET /v1/organizations/webhooks",
    "organization.webhooks.retrieve": `GET ${WEBHOOK}`,
    "organization.webhooks.update": `POST ${WEBHOOK}`,
    "organization.webhooks.delete": `DELETE ${WEBHOOK}`,
    "organization.webhooks.regenerateSigningSecret": `POST ${WEBHOOK}/regenerate_signing_secret`,
  }),
  ...unbuilt("the token endpoint", { "oauth.token": "POST /v1/oauth/token" }),
];
