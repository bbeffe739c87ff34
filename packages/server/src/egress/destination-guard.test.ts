import { expect, test } from "vitest";
import { PolicyGuard } from "./destination-guard.ts";
import { EgressPolicy } from "./egress-policy.ts";
import type { ResolveName } from "./name-resolver.ts";

function guard(addresses: readonly string[], allow: readonly string[] = []) {
  const policy = new EgressPolicy({ allow, ownAddresses: () => ["93.184.216.99"] });
  const resolve: ResolveName = async () => addresses.map((address) => ({ address, family: 4 }));
  return new PolicyGuard({ policy, resolve });
}

test("of a name's addresses those are given that may be dialled", async () => {
  const addresses = ["10.0.0.1", "93.184.216.34", "::ffff:127.0.0.1", "93.184.216.99"];
  expect(await guard(addresses).destinations("a.test")).toEqual({
    type: "addresses",
    addresses: ["93.184.216.34"],
  });
  expect(await guard(addresses, ["10.0.0.0/8"]).destinations("a.test")).toMatchObject({
    addresses: ["10.0.0.1", "93.184.216.34"],
  });
  expect(await guard(["10.0.0.1"]).destinations("a.test")).toMatchObject({ type: "refused" });
  const many = Array.from({ length: 50 }, (_, index) => `93.184.216.${index}`);
  expect(await guard(many).destinations("a.test")).toMatchObject({ addresses: many.slice(0, 8) });
});

test("an address is judged as it is, and nobody is asked for it", async () => {
  expect(await guard([]).destinations("93.184.216.34")).toMatchObject({ type: "addresses" });
  for (const address of ["93.184.216.99", "127.0.0.1", "::1", "::ffff:5db8:d863", "2002:a00:1::"]) {
    expect(await guard(["93.184.216.34"]).destinations(address)).toMatchObject({ type: "refused" });
  }
});

test("a name that is not there, and a resolver that says nothing, are failures", async () => {
  expect(await guard([]).destinations("a.test")).toMatchObject({ type: "failed" });
  const policy = new EgressPolicy({ allow: [], ownAddresses: () => [] });
  const refusing = new PolicyGuard({
    policy,
    resolve: () => Promise.reject(new Error("SERVFAIL")),
  });
  expect(await refusing.destinations("a.test")).toMatchObject({ type: "failed" });
  const silent = new PolicyGuard({ policy, resolve: () => new Promise(() => {}), resolveMs: 10 });
  expect(await silent.destinations("a.test")).toMatchObject({ type: "failed" });
});
