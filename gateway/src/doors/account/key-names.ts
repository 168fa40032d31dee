import type { Key } from "../../keys/keys.ts";
import { html, type Html } from "../pages/html.ts";
import type { Reader } from "./reader.ts";

/** How a key is called where several are listed: by its name, and by how its newest secret ends. */
export interface KeyName {
  readonly text: string;
  /** The same, where the name keeps its direction to itself and the end stays in one piece. */
  readonly markup: Html;
}

/** The names of these keys of the account, each looked up once. */
export async function keyNames(
  { asker, store }: Reader,
  ids: Iterable<string>,
): Promise<(id: string) => KeyName> {
  const names = new Map<string, KeyName>();
  for (const id of new Set(ids)) {
    const key = await store.keys.find(id);
    if (key && key.accountId === asker.accountId) names.set(id, keyName(key));
  }
  return (id) => names.get(id) ?? nameless(id);
}

function keyName({ name, secrets: [newest] }: Key): KeyName {
  if (!newest) return nameless(name);
  const end = `(…${newest.last4})`;
  return { text: `${name} ${end}`, markup: html`<bdi>${name}</bdi> <span class="whole">${end}</span>` };
}

const nameless = (text: string): KeyName => ({ text, markup: html`${text}` });
