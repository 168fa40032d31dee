import { seesAccount } from "../../keys/seen-by.ts";
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
  return listCalls(reader, { cursor, until, dayEnd });
}

/** The newest calls again, with what was written in the form for a file, and beside it what is wrong with that. */
export const showFileRefused = (reader: Reader, refused: FileRefused): Promise<Response> =>
  listCalls(reader, { refused });

interface Wanted {
  readonly cursor?: string | undefined;
  readonly until?: string | undefined;
  readonly dayEnd?: number | undefined;
  readonly refused?: FileRefused;
}

async function listCalls(reader: Reader, { cursor, until, dayEnd, refused }: Wanted): Promise<Response> {
  const shown = await readCalls(reader, { before: cursor, madeBeforeMs: dayEnd });
  const nameOf = seesAccount(reader.asker)
    ? await keyNames(
        reader,
        shown.calls.map(({ key_id: id }) => id),
      )
    : undefined;
  const today = dayOf(Math.floor(reader.asker.nowMs / 1000));
  const listed = { ...shown, nameOf, until, today, isNewest: cursor === undefined, refused };
  return accountResponse(callsPage(listed), reader, refused ? 400 : 200);
}

/** Any text sorts somewhere among ids; what looks like none was not written by us. */
const place = /^[\w-]{1,100}$/;
