import { sees, seesAccount } from "../../keys/seen-by.ts";
import type { CallClient } from "../../ledger/call-record.ts";
import { dayOf } from "../../platform/utc-day.ts";
import { pageResponse } from "../pages/small-page.ts";
import { errorPage } from "../people/message-page.ts";
import { accountResponse } from "../people/account-layout.ts";
import { backToCalls, callsPage, type FileRefused } from "./calls-page.ts";
import { keyNames } from "./key-names.ts";
import { readCalls } from "./read-calls.ts";
import type { Reader } from "./reader.ts";
import { readDayEndMs } from "./words.ts";

export async function showCalls(reader: Reader, query: URLSearchParams): Promise<Response> {
  const cursor = query.get("cursor") ?? undefined;
  const until = query.get("until") || undefined;
  const dayEnd = until === undefined ? undefined : readDayEndMs(until);
  if ((cursor !== undefined && !place.test(cursor)) || (until !== undefined && dayEnd === undefined)) {
    return pageResponse(
      errorPage("Not a place in the list", "This address was put together wrongly.", backToCalls),
      400,
    );
  }
  const grantId = query.get("grant_id") ?? undefined;
  const client = grantId === undefined ? undefined : await findClient(reader, grantId);
  if (grantId !== undefined && !client) return pageResponse(noSuchClient, 404);
  return listCalls(reader, { cursor, until, dayEnd, client });
}

/** One that ended has made its calls all the same. Whose calls the reader may not see looks like none. */
async function findClient({ asker, store }: Reader, grantId: string): Promise<CallClient | undefined> {
  const grant = await store.grants.find(grantId);
  return grant && sees(asker, grant) ? { grantId, name: grant.clientName } : undefined;
}

const noSuchClient = errorPage(
  "No such client",
  "There is no client by this id whose calls this key may see.",
  backToCalls,
);

/** The newest calls again, with what was written in the form for a file, and beside it what is wrong with that. */
export const showFileRefused = (reader: Reader, refused: FileRefused): Promise<Response> =>
  listCalls(reader, { refused });

interface Wanted {
  readonly cursor?: string | undefined;
  readonly until?: string | undefined;
  readonly dayEnd?: number | undefined;
  readonly client?: CallClient | undefined;
  readonly refused?: FileRefused;
}

async function listCalls(reader: Reader, wanted: Wanted): Promise<Response> {
  const { cursor, until, dayEnd, client, refused } = wanted;
  const place = { before: cursor, madeBeforeMs: dayEnd };
  const shown = await readCalls(reader, { ...place, grantId: client?.grantId });
  const nameOf = seesAccount(reader.asker)
    ? await keyNames(
        reader,
        shown.calls.map(({ key_id: id }) => id),
      )
    : undefined;
  const today = dayOf(Math.floor(reader.asker.nowMs / 1000));
  const listed = { ...shown, nameOf, client, until, today, isNewest: cursor === undefined, refused };
  return accountResponse(callsPage(listed), reader, refused ? 400 : 200);
}

/** Any text sorts somewhere among ids; what looks like none was not written by us. */
const place = /^[\w-]{1,100}$/;
