import { beforeEach } from "bun:test";
import type { TestAccount, TestGateway } from "./test-gateway.ts";

type Options = Parameters<TestGateway["openAccount"]>[0];

interface FreshAccount extends TestAccount {
  /** For the rest of the test it is one like this. */
  readonly reopen: (options: Options) => Promise<void>;
}

/** An account that is another one in each test of a file, under one name. */
export function useFreshAccount(gateway: TestGateway, options: Options): FreshAccount {
  let account: TestAccount;
  const reopen = async (wanted: Options): Promise<void> => {
    account = await gateway.openAccount(wanted);
  };
  beforeEach(() => reopen(options));
  return {
    reopen,
    get accountId() {
      return account.accountId;
    },
    get keyId() {
      return account.keyId;
    },
    get key() {
      return account.key;
    },
  };
}
