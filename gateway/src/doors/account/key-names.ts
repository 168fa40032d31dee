import type { Key } from "../../keys/keys.ts";
import type { Reader } from "./reader.ts";

/** How a key is called where several are listed: by its name, and by how its newest secret ends. */
const keyName = ({ name, secrets: [newest] }: Key): string => (newest ? `${name} (…${newest.last4})` : name);

/** The names of these keys of the account, each looked up once. */
export async function keyNames(
  { asker, store }: Reader,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const id of new Set(ids)) {
    const key = await store.keys.find(id);
    names.set(id, key && key.accountId === asker.accountId ? keyName(key) : id);
  }
  return names;
}
