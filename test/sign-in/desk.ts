// A gateway that knows one client, Desk, and somebody with an account who signs in to it.

import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createClient, createPerson, type Client, type Person } from "./oauth-person.ts";

export interface Desk {
  readonly gateway: TestGateway;
  readonly account: TestAccount;
  readonly desk: () => Client;
  /** A browser of their own each time. */
  readonly person: () => Person;
}

export async function openDesk(): Promise<Desk> {
  const gateway = await openTestGateway({
    config:
      "mcp:\n  clients:\n    desk: { name: Desk, redirect_uris: ['http://127.0.0.1:4711/callback', 'https://desk.example/cb?x=1'] }\n",
  });
  const account = await gateway.openAccount({ creditUsd: "50" });
  return {
    gateway,
    account,
    desk: () => createClient(gateway.url, "desk"),
    person: () => createPerson(gateway.url, account.key),
  };
}
