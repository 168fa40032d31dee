import { accountResponse } from "./account-layout.ts";
import { keyNames } from "./key-names.ts";
import type { Reader } from "./reader.ts";
import { noReceiptPage, receiptPage } from "./receipt-page.ts";

/** Somebody else's call looks like none: another account's, or another key's to whom sees only its own. */
export async function showReceipt(reader: Reader, requestId: string): Promise<Response> {
  const { asker, books } = reader;
  const receipt = await books.receipt(asker, requestId);
  if (!receipt || (asker.scope === "key" && receipt.key_id !== asker.keyId))
    return accountResponse(noReceiptPage, reader, 404);
  const names = await keyNames(reader, [receipt.key_id]);
  return accountResponse(receiptPage(receipt, names.get(receipt.key_id) ?? receipt.key_id), reader);
}
